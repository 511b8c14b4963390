import { getEventListeners, once } from 'node:events';
import t from 'tap';
import { sleep, TimeoutError, withTimeout } from './timeout.ts';

void t.test('what comes in time comes through, failure or not', async (t) => {
  const { signal } = new AbortController();
  t.equal(await withTimeout(Promise.resolve(7), 60_000, 'It', signal), 7);
  await t.rejects(withTimeout(Promise.reject(new Error('no')), 60_000, 'It', signal), { message: 'no' });
  t.equal(getEventListeners(signal, 'abort').length, 0);
});

void t.test('waiting ends after its time', async (t) => {
  const error = await withTimeout(new Promise(() => {}), 5, 'The answer').catch((error: unknown) => error);
  t.type(error, TimeoutError);
  t.equal((error as Error).message, 'The answer did not finish within 5 ms.');
});

void t.test('waiting ends with its signal', async (t) => {
  const stop = new AbortController();
  const reason = new Error('The call is over.');
  const waiting = withTimeout(new Promise(() => {}), 60_000, 'It', stop.signal);
  stop.abort(reason);
  await t.rejects(waiting, reason);
  t.equal(getEventListeners(stop.signal, 'abort').length, 0);
});

void t.test('a failure behind a wait that was over before is nobody’s surprise', async (t) => {
  const unhandled: unknown[] = [];
  const listener = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', listener);
  t.teardown(() => process.off('unhandledRejection', listener));
  const failing = Promise.withResolvers<void>();
  await t.rejects(withTimeout(failing.promise, 60_000, 'It', AbortSignal.abort(new Error('over'))), {
    message: 'over',
  });
  failing.reject(new Error('too late'));
  await new Promise((resolve) => setImmediate(resolve));
  t.same(unhandled, []);
});

void t.test('sleep ends by itself or by its signal, and leaves no listener', async (t) => {
  const stop = new AbortController();
  await sleep(1, stop.signal);
  t.equal(getEventListeners(stop.signal, 'abort').length, 0);
  const reason = new Error('enough');
  const aborted = once(stop.signal, 'abort');
  const sleeping = sleep(60_000, stop.signal);
  stop.abort(reason);
  await aborted;
  await t.rejects(sleeping, reason);
  await t.rejects(sleep(60_000, stop.signal), reason);
  await sleep(1);
});
