import { CONSULT_STATES, type ConsultState } from '../sessions/session-record.ts';

/** What follows of what has happened, and the state behind it; without `next` the state stays. */
interface Answer<A extends string> {
  readonly answer: A;
  readonly next?: ConsultState;
}

const to = <const A extends string>(next: ConsultState, answer: A): Answer<A> => ({ answer, next });

/** One answer a state, in the order of `CONSULT_STATES`. */
function row<const A extends string>(
  ...cells: readonly [
    dialling: A | Answer<A>,
    briefing: A | Answer<A>,
    bridging: A | Answer<A>,
    bridged: A | Answer<A>,
    over: A | Answer<A>,
  ]
): Readonly<Record<ConsultState, Answer<A>>> {
  const answers = cells.map((cell) => (typeof cell === 'string' ? { answer: cell } : cell));
  return Object.fromEntries(CONSULT_STATES.map((state, i) => [state, answers[i]])) as Record<
    ConsultState,
    Answer<A>
  >;
}

/**
 * Everything that can happen to a call to whom a caller is to be transferred to, and what follows in each state. `end_target`:
 * nobody wants that call any more; `fail`: the caller's agent is told that it came to nothing; `too_late`: caller and target
 * are together already.
 */
// prettier-ignore
export const CONSULT_TABLE = {
  //                       dialling                     briefing                     bridging                     bridged                         over
  // The call to the target, and who takes it.
  target_rings:        row('tell',                      'ignore',                    'ignore',                    'ignore',                       'ignore'),
  target_answers:      row(to('briefing', 'tell'),      'ignore',                    'ignore',                    'ignore',                       'ignore'),
  target_accepts:      row(to('bridging', 'bridge'),    to('bridging', 'bridge'),    'refuse',                    'refuse',                       'refuse'),
  // Its carrier says so: what is left at the other end is a caller who talks with nobody.
  target_leaves:       row(to('over', 'fail'),          to('over', 'fail'),          to('over', 'fail'),          to('over', 'hang_up_caller'),   'ignore'),
  // Its gateway has left it, and also leaves it when the two are connected.
  target_session_over: row(to('over', 'fail'),          to('over', 'fail'),          'ignore',                    'ignore',                       'ignore'),

  // What the carrier made of it.
  connected:           row('ignore',                    'ignore',                    to('bridged', 'tell'),       'ignore',                       'ignore'),
  not_connected:       row('ignore',                    'ignore',                    to('over', 'fail'),          'ignore',                       'ignore'),

  // The caller: their agent waits no more, or their carrier says that they have hung up.
  caller_gives_up:     row(to('over', 'end_target'),    to('over', 'end_target'),    'too_late',                  'too_late',                     'ignore'),
  caller_leaves:       row(to('over', 'end_target'),    to('over', 'end_target'),    to('over', 'end_target'),    to('over', 'end_target'),       'ignore'),
} as const;

export type ConsultStimulus = keyof typeof CONSULT_TABLE;
export type ConsultAnswer = (typeof CONSULT_TABLE)[ConsultStimulus][ConsultState]['answer'];

/** What follows of a stimulus in a state. */
export function consultAnswer(
  state: ConsultState,
  stimulus: ConsultStimulus,
): { answer: ConsultAnswer; next?: ConsultState } {
  return CONSULT_TABLE[stimulus][state];
}
