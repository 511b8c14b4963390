import t from 'tap';
import { firstSteps } from './first-steps.ts';

void t.test(
  'the steps to a first call show what is done, leave out what is skipped, and go when none is left',
  async (t) => {
    const none = { agents: 0, calls: 0, numbers: 0 };
    const ids = (skipped: string[], has = none) => firstSteps(has, new Set(skipped)).map(({ id }) => id);
    t.same(ids([]), ['agent', 'talk', 'number']);
    t.same(firstSteps({ ...none, agents: 2 }, new Set()), [
      { id: 'agent', done: true },
      { id: 'talk', done: false },
      { id: 'number', done: false },
    ]);
    t.same(ids(['talk']), ['agent', 'number']);
    t.same(ids(['talk', 'number'], { ...none, agents: 1 }), [], 'what is left is done');
    t.same(ids([], { agents: 1, calls: 9, numbers: 1 }), []);
  },
);
