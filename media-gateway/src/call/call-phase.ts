/**
 * Where a call stands.
 * - `talking`: agent and caller converse
 * - `away`: the connection was lost and may come back on another one
 * - `announcing`: a transfer was decided; what is being said is heard out, and the caller is told
 * - `transferring`: the carrier was asked to connect the caller elsewhere
 * - `handed_over`: as `transferring`, and the carrier has taken the caller, or their stream, away to do it
 * - `changing_agent`: another agent is to go on with the call; it is told so and waited for, and the caller is heard
 * - `taking_message`: nobody could be reached, and the caller leaves a message
 * - `saying_goodbye`: the call ends as soon as what is being said was heard
 * - `over`
 */
export const CALL_PHASES = [
  'talking',
  'away',
  'announcing',
  'transferring',
  'handed_over',
  'changing_agent',
  'taking_message',
  'saying_goodbye',
  'over',
] as const;
export type CallPhase = (typeof CALL_PHASES)[number];

/** The action on a stimulus, and the phase that follows; without `next` the phase stays. */
interface Answer<A extends string> {
  readonly answer: A;
  readonly next?: CallPhase;
}

const to = <const A extends string>(next: CallPhase, answer: A): Answer<A> => ({ answer, next });

/** One answer a phase, in the order of `CALL_PHASES`. */
function row<const A extends string>(
  ...cells: readonly [
    talking: A | Answer<A>,
    away: A | Answer<A>,
    announcing: A | Answer<A>,
    transferring: A | Answer<A>,
    handedOver: A | Answer<A>,
    changingAgent: A | Answer<A>,
    takingMessage: A | Answer<A>,
    sayingGoodbye: A | Answer<A>,
    over: A | Answer<A>,
  ]
): Readonly<Record<CallPhase, Answer<A>>> {
  const answers = cells.map((cell) => (typeof cell === 'string' ? { answer: cell } : cell));
  return Object.fromEntries(CALL_PHASES.map((phase, i) => [phase, answers[i]])) as Record<
    CallPhase,
    Answer<A>
  >;
}

/**
 * Everything that can happen to a call (stimuli), and the answer to each in each phase. Answers to requests are
 * `take`, or the code word of the refusal.
 */
// prettier-ignore
export const CALL_TABLE = {
  //                       talking                        away                 announcing                   transferring                           handed_over             changing_agent                 taking_message       saying_goodbye       over
  // The caller.
  caller_audio:        row('hear',                        'ignore',            'hear',                      'hear',                                'hear',                 'hear',                        'hear',              'hear',              'ignore'),
  caller_words:        row('take_turn',                   'ignore',            'write_down',                'ignore',                              'ignore',               'take_turn',                   'take_turn',         'ignore',            'ignore'),
  key:                 row('take',                        'ignore',            'take',                      'take',                                'take',                 'take',                        'take',              'take',              'ignore'),
  key_entry:           row('answer',                      'write_down',        'write_down',                'write_down',                          'write_down',           'write_down',                  'ignore',            'ignore',            'ignore'),
  client_input:        row('take',                        'take',              'take',                      'take',                                'take',                 'take',                        'take',              'take',              'ignore'),
  response_wanted:     row('answer',                      'refuse',            'refuse',                    'refuse',                              'refuse',               'await',                       'refuse',            'refuse',            'refuse'),

  // The connection. Lost: it may come back; left: it will not.
  far_end_lost:        row(to('away', 'wait_for_return'), 'ignore',            'end',                       to('handed_over', 'wait_for_carrier'), 'ignore',               to('away', 'wait_for_return'), 'end',               'end',               'ignore'),
  far_end_left:        row('end',                         'end',               'end',                       to('handed_over', 'wait_for_carrier'), 'ignore',               'end',                         'end',               'end',               'ignore'),
  audio_missing:       row('end',                         'ignore',            'end',                       'ignore',                              'ignore',               'end',                         'end',               'end',               'ignore'),

  // Time.
  greeting_due:        row('greet',                       'ignore',            'ignore',                    'ignore',                              'ignore',               'ignore',                      'ignore',            'ignore',            'ignore'),
  silence:             row('count',                       'ignore',            'ignore',                    'ignore',                              'ignore',               'ignore',                      'ignore',            'ignore',            'ignore'),
  limit_reached:       row('say_goodbye',                 'ignore',            'say_goodbye',               'ignore',                              'ignore',               'say_goodbye',                 'ignore',            'ignore',            'ignore'),
  goodbye_check:       row('ignore',                      'ignore',            'ignore',                    'ignore',                              'ignore',               'ignore',                      'ignore',            'check',             'ignore'),
  return_overdue:      row('ignore',                      'end',               'ignore',                    'ignore',                              'ignore',               'ignore',                      'ignore',            'ignore',            'ignore'),

  // The agent and its providers.
  answer_due:          row('think',                       'drop',              'drop',                      'drop',                                'drop',                 'drop',                        'drop',              'drop',              'drop'),
  waiting_text:        row('say',                         'wait',              'wait',                      'wait',                                'wait',                 'wait',                        'drop',              'drop',              'drop'),
  reply_heard:         row('go_on',                       'ignore',            'ignore',                    'ignore',                              'ignore',               'ignore',                      'ignore',            'end',               'ignore'),
  reply_failed:        row('recover',                     'ignore',            'recover',                   'ignore',                              'ignore',               'recover',                     'ignore',            'give_up',           'ignore'),
  recognition_lost:    row('say_goodbye',                 'wait',              'wait',                      'wait',                                'wait',                 'wait',                        'ignore',            'ignore',            'ignore'),

  // A step of the flow. What waits is kept by whoever brings it, or comes again.
  flow_step:           row('take',                        'wait',              'wait',                      'wait',                                'wait',                 'wait',                        'drop',              'drop',              'drop'),

  // What the agent's tools and requests from outside ask for.
  goodbye:             row(to('saying_goodbye', 'say'),   'end',               to('saying_goodbye', 'say'), 'end',                                 'end',                  to('saying_goodbye', 'say'),   'end',               'take',              'not_live'),
  end_by_agent:        row('take',                        'away',              'transfer_in_progress',      'transfer_in_progress',                'transfer_in_progress', 'transfer_in_progress',        'ending',            'take',              'not_live'),
  keys_by_agent:       row('take',                        'away',              'take',                      'transferring',                        'transferring',         'take',                        'ending',            'take',              'not_live'),
  transfer:            row(to('announcing', 'take'),      'away',              'transfer_in_progress',      'transfer_in_progress',                'transfer_in_progress', 'transfer_in_progress',        'ending',            'ending',            'not_live'),
  hand_over:           row(to('changing_agent', 'take'),  'away',              'transfer_in_progress',      'transfer_in_progress',                'transfer_in_progress', 'transfer_in_progress',        'ending',            'ending',            'not_live'),
  say:                 row('take',                        'away',              'transferring',              'transferring',                        'transferring',         'transferring',                'ending',            'ending',            'not_live'),
  event:               row('take',                        'take',              'take',                      'take',                                'take',                 'take',                        'take',              'take',              'not_live'),
  end:                 row('take',                        'take',              'take',                      'take',                                'take',                 'take',                        'take',              'take',              'not_live'),
  carrier_result:      row('take',                        'take',              'take',                      'take',                                'take',                 'take',                        'take',              'take',              'not_live'),
  answer_verdict:      row('take',                        'take',              'take',                      'take',                                'take',                 'take',                        'take',              'take',              'not_live'),

  // How a transfer goes.
  transfer_announced:  row('drop',                        'drop',              to('transferring', 'ask'),   'drop',                                'drop',                 'drop',                        'drop',              'drop',              'drop'),
  transfer_taken:      row('drop',                        'drop',              'drop',                      to('handed_over', 'let_go'),           'let_go',               'drop',                        'drop',              'drop',              'drop'),
  transfer_returns:    row('drop',                        'drop',              'drop',                      'drop',                                to('away', 'wait_for_return'), 'drop',                 'drop',              'drop',              'drop'),
  transfer_bridged:    row('drop',                        'drop',              'drop',                      'end',                                 'end',                  'drop',                        'drop',              'drop',              'drop'),
  transfer_failed:     row('drop',                        'drop',              'drop',                      to('talking', 'go_on'),                'far_end_left',         'drop',                        'drop',              'drop',              'drop'),

  // How a hand-over to another agent ends, whether it worked or not.
  agent_changed:       row('drop',                        'drop',              'drop',                      'drop',                                'drop',                 to('talking', 'go_on'),        'drop',              'drop',              'drop'),

  // Nobody could be reached, and the caller is to leave a message.
  message_wanted:      row(to('taking_message', 'take'),  'drop',              'drop',                      'drop',                                'drop',                 'drop',                        'drop',              'drop',              'drop'),

  // The end, whatever led to it.
  ended:               row(to('over', 'close'),           to('over', 'close'), to('over', 'close'),         to('over', 'close'),                   to('over', 'close'),    to('over', 'close'),           to('over', 'close'), to('over', 'close'), 'ignore'),
} as const;

export type CallStimulus = keyof typeof CALL_TABLE;
export type CallAnswer<S extends CallStimulus> = (typeof CALL_TABLE)[S][CallPhase]['answer'];

type Column = Readonly<{ [S in CallStimulus]: Answer<CallAnswer<S>> }>;

/** The table by phase, since several questions are asked for every audio frame. */
const COLUMNS = Object.fromEntries(
  CALL_PHASES.map((phase) => [
    phase,
    Object.fromEntries(Object.entries(CALL_TABLE).map(([stimulus, answers]) => [stimulus, answers[phase]])),
  ]),
) as Record<CallPhase, Column>;

/** The phase of one call. Only what happens moves it, by the table. */
export class PhaseOfCall {
  #phase: CallPhase;
  #answers: Column;

  constructor(phase: CallPhase = 'talking') {
    this.#phase = phase;
    this.#answers = COLUMNS[phase];
  }

  get phase(): CallPhase {
    return this.#phase;
  }

  /** Takes a stimulus and moves to the phase that follows. @returns the action that the caller of this must take */
  on<S extends CallStimulus>(stimulus: S): CallAnswer<S> {
    const { answer, next } = this.#answers[stimulus];
    if (next !== undefined) {
      this.#phase = next;
      this.#answers = COLUMNS[next];
    }
    return answer;
  }

  /** The answer to a stimulus in the present phase, without taking it. */
  answerTo<S extends CallStimulus>(stimulus: S): CallAnswer<S> {
    return this.#answers[stimulus].answer;
  }
}
