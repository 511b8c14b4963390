import t from 'tap';
import { CONSULT_STATES, type ConsultState } from '../sessions/session-record.ts';
import { CONSULT_TABLE, consultAnswer, type ConsultStimulus } from './consult-states.ts';

const STIMULI = Object.keys(CONSULT_TABLE) as ConsultStimulus[];
const RANK = Object.fromEntries(CONSULT_STATES.map((state, i) => [state, i])) as Record<ConsultState, number>;

void t.test('every stimulus has an answer in every state, and no state comes again', (t) => {
  for (const state of CONSULT_STATES)
    for (const stimulus of STIMULI) {
      const { answer, next } = consultAnswer(state, stimulus);
      t.type(answer, 'string', `${stimulus} in ${state}`);
      if (next !== undefined) t.ok(RANK[next] > RANK[state], `${stimulus} leads from ${state} to ${next}`);
    }
  t.end();
});

void t.test('the whole table, as it is meant', (t) => {
  const told = STIMULI.map((stimulus) => [
    stimulus,
    ...CONSULT_STATES.map((state) => {
      const { answer, next } = consultAnswer(state, stimulus);
      return next === undefined ? answer : `${answer} > ${next}`;
    }),
  ]);
  const end = 'end_target > over';
  const fail = 'fail > over';
  t.same(told, [
    ['target_rings', 'tell', 'ignore', 'ignore', 'ignore', 'ignore'],
    ['target_answers', 'tell > briefing', 'ignore', 'ignore', 'ignore', 'ignore'],
    ['target_accepts', 'bridge > bridging', 'bridge > bridging', 'refuse', 'refuse', 'refuse'],
    ['target_leaves', fail, fail, fail, 'hang_up_caller > over', 'ignore'],
    ['target_session_over', fail, fail, 'ignore', 'ignore', 'ignore'],
    ['connected', 'ignore', 'ignore', 'tell > bridged', 'ignore', 'ignore'],
    ['not_connected', 'ignore', 'ignore', fail, 'ignore', 'ignore'],
    ['caller_gives_up', end, end, 'too_late', 'too_late', 'ignore'],
    ['caller_leaves', end, end, end, end, 'ignore'],
  ]);
  t.end();
});

void t.test('whatever comes in whatever order, nobody waits for a call that is over', (t) => {
  // Three in a row are enough to pass through every state.
  for (const first of STIMULI)
    for (const second of STIMULI)
      for (const third of STIMULI) {
        let state: ConsultState = 'dialling';
        let wasTold = false;
        for (const stimulus of [first, second, third]) {
          const { answer, next } = consultAnswer(state, stimulus);
          if (next === 'over') {
            // One of the two is told of it, or hung up.
            if (!['fail', 'hang_up_caller', 'end_target'].includes(answer)) t.fail(`${state}: ${stimulus}`);
            if (wasTold) t.fail(`told twice: ${first}, ${second}, ${third}`);
            wasTold = true;
          }
          state = next ?? state;
        }
      }
  t.end();
});
