import t from 'tap';
import { DisposableList } from './disposable-list.ts';

void t.test('what was added last is closed first, one after another, and once', async (t) => {
  const order: string[] = [];
  const list = new DisposableList();
  const item = list.add({
    async [Symbol.asyncDispose]() {
      await Promise.resolve();
      order.push('first');
    },
  });
  t.type(item[Symbol.asyncDispose], 'function', 'it is given back');
  list.defer(() => void order.push('second'));
  list.defer(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    order.push('third');
  });
  await Promise.all([list.dispose(), list.dispose(), list[Symbol.asyncDispose]()]);
  t.same(order, ['third', 'second', 'first']);
});

void t.test('one that fails to close keeps no other open', async (t) => {
  const order: string[] = [];
  const list = new DisposableList();
  list.defer(() => void order.push('first'));
  list.defer(() => Promise.reject(new Error('stuck')));
  list.defer(() => void order.push('third'));
  await t.rejects(list.dispose(), { message: 'stuck' });
  t.same(order, ['third', 'first']);
});

void t.test('several failures are told together', async (t) => {
  const list = new DisposableList();
  list.defer(() => Promise.reject(new Error('one')));
  list.defer(() => {
    throw new Error('two');
  });
  await t.rejects(list.dispose(), { errors: [{ message: 'two' }, { message: 'one' }] });
});

void t.test('nothing is added to a closed list', async (t) => {
  const list = new DisposableList();
  await list.dispose();
  t.throws(() => list.defer(() => undefined), /disposed/);
});
