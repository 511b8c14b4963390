import type { AnswerBy, AnswerClass, CarrierVerdict } from '@parley/shared/contracts/answer-detection';
import { AnswerPhrases, type PhraseEvidence } from './answer-phrases.ts';

/**
 * How far it is known who has answered.
 * - `quiet`: nobody was heard yet
 * - `voice`: somebody speaks
 * - `pause`: nobody speaks any more
 * - `greeted`: the agent took the floor, as with a person; what speaks for a machine still counts
 * - `settled`: it is known, or too late to matter
 */
export const ANSWER_STATES = ['quiet', 'voice', 'pause', 'greeted', 'settled'] as const;
export type AnswerState = (typeof ANSWER_STATES)[number];

/** What is done about a stimulus, and the state that follows; without `next` the state stays. */
interface Move<A extends string> {
  readonly does: A;
  readonly next?: AnswerState;
}

const to = <const A extends string>(next: AnswerState, does: A): Move<A> => ({ does, next });

function row<const A extends string>(
  ...cells: readonly [
    quiet: A | Move<A>,
    voice: A | Move<A>,
    pause: A | Move<A>,
    greeted: A | Move<A>,
    settled: A | Move<A>,
  ]
): Readonly<Record<AnswerState, Move<A>>> {
  const moves = cells.map((cell) => (typeof cell === 'string' ? { does: cell } : cell));
  return Object.fromEntries(ANSWER_STATES.map((state, i) => [state, moves[i]])) as Record<
    AnswerState,
    Move<A>
  >;
}

/** Everything that tells who has answered, and what follows in each state. */
// prettier-ignore
export const ANSWER_TABLE = {
  //                 quiet                     voice                     pause                     greeted                   settled
  // The far end's sounds.
  voice_begins:  row(to('voice', 'note'),      'note',                   to('voice', 'note'),      'note',                   'ignore'),
  voice_ends:    row('ignore',                 to('pause', 'note'),      'ignore',                 'note',                   'ignore'),
  // Nobody speaks any more for as long as a person would wait.
  pause_over:    row('ignore',                 'ignore',                 to('greeted', 'greet'),   'ignore',                 'ignore'),
  // Nobody has spoken at all for so long.
  silence_over:  row(to('greeted', 'greet'),   'ignore',                 'ignore',                 'ignore',                 'ignore'),
  // Words of a person behind which nobody speaks any more.
  person:        row('ignore',                 'ignore',                 'ignore',                 'tell',                   'ignore'),
  machine:       row(to('settled', 'tell'),    to('settled', 'tell'),    to('settled', 'tell'),    to('settled', 'tell'),    'ignore'),
  // Time is up: it counts as a person.
  deadline:      row(to('greeted', 'greet'),   'tell',                   to('greeted', 'greet'),   'tell',                   'ignore'),
  // Nothing that comes later corrects it.
  too_late:      row(to('settled', 'ignore'),  to('greeted', 'greet'),   to('settled', 'ignore'),  to('settled', 'ignore'),  'ignore'),
} as const;

export type AnswerStimulus = keyof typeof ANSWER_TABLE;

export interface AnswerVerdict {
  class: AnswerClass;
  by: AnswerBy;
  /** What led to it: entries of the tables and figures, none of the far end's own words. */
  evidence: string[];
}

/** What the call is to do. */
export interface AnswerStep {
  /** The agent takes the floor. */
  greet: boolean;
  /** Told again, another, when it was a mistake. */
  verdict: AnswerVerdict | undefined;
}

export interface AnswerOptions {
  /** Of the agent, BCP 47. */
  language: string;
  /** Until when it must be known, from the first moment on, ms. */
  deadlineMs: number;
  /** How long nobody may speak before the agent does, ms; Infinity: it waits for somebody. */
  silenceMs?: number;
  /** An assistant has been answered, and may bring a person. */
  afterScreening?: boolean;
}

/** Nobody was heard for so long: the agent speaks first. */
export const SILENCE_MS = 1200;
/** Behind a short greeting nobody waits any longer than this… */
export const PAUSE_MS = 450;
/** …behind one that may have been a recorder's a little longer… */
export const DOUBTFUL_PAUSE_MS = 580;
/** …and behind one that a carrier takes for a machine's until a recorder would go on. */
export const MACHINE_PAUSE_MS = 1000;
/** What is longer is doubtful, too. */
const LONG_GREETING_MS = 4000;
/** A voice is over after this; the pause counts from its last frame. */
const VOICE_OVER_MS = 160;
/** Less is a click of the line. */
const LEAST_VOICE_MS = 120;
/** So many hints of different kinds are a recorder's. */
const HINTS = 2;
/** A beep behind so much voice ends a recorder's greeting; one without must be late. */
const VOICE_BEFORE_BEEP_MS = 1500;
const EARLIEST_BEEP_MS = 800;
/** A person who is called does not speak for so long without a pause. */
const MONOLOGUE_MS = 6000;
/** Until then a machine that was taken for a person is recognised, ms from the first moment on. */
export const CORRECTABLE_MS = 20_000;

const NOTHING: AnswerStep = { greet: false, verdict: undefined };

/**
 * Finds out who or what has answered. A state machine over inputs; it owns no timer and touches nothing, so that a test
 * is a list of inputs. Times are monotonic ms.
 */
export class AnswerDetector {
  readonly #options: Required<AnswerOptions>;
  readonly #phrases: AnswerPhrases;
  readonly #startedAt: number;
  #state: AnswerState = 'quiet';
  /** The voice that goes on, or was heard last. */
  #voice = { beganAt: -Infinity, lastAt: -Infinity, ms: 0 };
  /** How long all voices lasted, pauses within them included. */
  #voicedMs = 0;
  #longestMs = 0;
  /** Words whose turn is over, and those of the one that goes on. */
  #closed = '';
  #open = '';
  /** A screening assistant has asked for patience with its last words. */
  #asksToWait = false;
  #carrier: CarrierVerdict | undefined;
  #said: PhraseEvidence | undefined;
  #told: AnswerClass | undefined;
  /** Somebody was greeted whose words were a person's: only what no person says corrects that. */
  #isPerson = false;
  #deadlineTold = false;

  constructor(options: AnswerOptions, now: number) {
    this.#options = { silenceMs: SILENCE_MS, afterScreening: false, ...options };
    this.#phrases = new AnswerPhrases(options.language);
    this.#startedAt = now;
  }

  get state(): AnswerState {
    return this.#state;
  }

  /** Whether the agent has not taken the floor yet. */
  get listening(): boolean {
    return this.#state === 'quiet' || this.#state === 'voice' || this.#state === 'pause';
  }

  /** Whether anything that is heard still matters. */
  get settled(): boolean {
    return this.#state === 'settled';
  }

  /** Whether somebody was heard. */
  get heard(): boolean {
    return this.#voicedMs + this.#voice.ms > 0;
  }

  /**
   * Takes the passing of time and what was heard meanwhile; called at least every 20 ms.
   * @param lastVoiceAt when a voice was last heard; -Infinity when never
   */
  passed(now: number, lastVoiceAt: number): AnswerStep {
    if (this.#state === 'settled') return NOTHING;
    if (lastVoiceAt > this.#voice.lastAt) this.#onVoice(lastVoiceAt);
    else if (this.#voice.ms > 0 && now - this.#voice.lastAt >= VOICE_OVER_MS) this.#voiceEnds();
    const since = now - this.#startedAt;
    if (since >= this.#options.deadlineMs && !this.#deadlineTold) return this.#deadline();
    if (this.#state === 'quiet' && since >= this.#options.silenceMs) return this.#greet('silence_over');
    if (this.#state === 'pause' && now - this.#voice.lastAt >= this.#patience)
      return this.#greet('pause_over');
    if (since >= Math.max(CORRECTABLE_MS, this.#options.deadlineMs)) return this.#greet('too_late');
    // Words of somebody to whom the agent has spoken first.
    if (this.#state === 'greeted' && this.#told === undefined && now - this.#voice.lastAt >= this.#patience)
      return this.#person();
    return NOTHING;
  }

  /** Takes what the far end says. @param over no more words of this turn follow */
  words(text: string, over: boolean): AnswerStep {
    if (this.#state === 'settled' || text === '') return NOTHING;
    this.#open = text;
    const all = this.#words;
    if (over) {
      this.#closed = all;
      this.#open = '';
    }
    this.#said = this.#phrases.read(all);
    this.#asksToWait = this.#options.afterScreening && this.#phrases.asksToWait(text);
    return this.#weigh();
  }

  /** Takes a beep that has ended. @param durationMs of it */
  beep(now: number, hz: number, durationMs: number): AnswerStep {
    // What is loud counts as a voice at first: the beep does, too.
    const voiceMs = Math.max(0, this.#voicedMs + this.#voice.ms - durationMs);
    const late = now - this.#startedAt >= EARLIEST_BEEP_MS + durationMs;
    // Where a person was heard: ovens and cars beep, too.
    if ((this.#isPerson && !this.#suspicious) || this.#options.afterScreening) return NOTHING;
    if (voiceMs < VOICE_BEFORE_BEEP_MS && !(late && voiceMs < LEAST_VOICE_MS)) return NOTHING;
    return this.#tell('machine', {
      class: 'voicemail',
      by: 'beep',
      evidence: [`beep ${Math.round(hz)} Hz ${durationMs} ms`, ...this.#figures()],
    });
  }

  /** Takes the carrier's verdict. @param beep it heard the beep of a recorder */
  carrier(verdict: CarrierVerdict, beep: boolean): AnswerStep {
    this.#carrier = verdict;
    if (beep && !this.#isPerson && this.#voicedMs + this.#voice.ms >= VOICE_BEFORE_BEEP_MS)
      return this.#tell('machine', {
        class: 'voicemail',
        by: 'carrier',
        evidence: ['carrier heard a beep', ...this.#figures()],
      });
    return this.#weigh();
  }

  // ---- inside ----

  get #words(): string {
    return this.#closed === '' ? this.#open : `${this.#closed} ${this.#open}`.trim();
  }

  /** Whether something already speaks for a recorder. */
  get #suspicious(): boolean {
    return (
      this.#carrier === 'machine' ||
      (this.#said !== undefined && this.#said.hints.length > 0) ||
      this.#longestMs >= LONG_GREETING_MS
    );
  }

  /** How long a pause must be behind what was heard. */
  get #patience(): number {
    if (this.#asksToWait) return Infinity;
    if (this.#carrier === 'human') return PAUSE_MS;
    if (this.#carrier === 'machine') return MACHINE_PAUSE_MS;
    return this.#suspicious ? DOUBTFUL_PAUSE_MS : PAUSE_MS;
  }

  #onVoice(lastAt: number): void {
    const voice = this.#voice;
    if (voice.ms === 0) voice.beganAt = lastAt;
    voice.lastAt = lastAt;
    voice.ms = Math.max(20, lastAt - voice.beganAt);
    this.#longestMs = Math.max(this.#longestMs, voice.ms);
    if (voice.ms >= LEAST_VOICE_MS) this.#move('voice_begins');
  }

  #voiceEnds(): void {
    const voice = this.#voice;
    if (voice.ms >= LEAST_VOICE_MS) {
      this.#voicedMs += voice.ms;
      this.#move('voice_ends');
    }
    voice.ms = 0;
  }

  /** Looks at what was said and what the carrier thinks of it. */
  #weigh(): AnswerStep {
    const said = this.#said;
    const figures = this.#figures();
    const machine = (answer: AnswerClass, evidence: string): AnswerStep =>
      this.#tell('machine', { class: answer, by: 'phrase', evidence: [evidence, ...figures] });
    if (said?.voicemail !== undefined) return machine('voicemail', `voicemail: ${said.voicemail}`);
    if (said?.screening !== undefined && !this.#options.afterScreening)
      return machine('screening', `screening: ${said.screening}`);
    if (said?.ivr !== undefined) return machine('ivr', `ivr: ${said.ivr}`);
    if (this.#isPerson) return NOTHING;
    if (said && said.hints.length >= HINTS)
      return machine('voicemail', `voicemail: ${said.hints.join(', ')}`);
    const thinksMachine = this.#carrier === 'machine' && said?.person === undefined;
    if (thinksMachine && ((said && said.hints.length > 0) || this.#longestMs >= MONOLOGUE_MS))
      return this.#tell('machine', {
        class: 'voicemail',
        by: 'carrier',
        evidence: ['carrier: machine', ...figures],
      });
    return NOTHING;
  }

  #greet(stimulus: 'pause_over' | 'silence_over' | 'too_late'): AnswerStep {
    const { does } = this.#move(stimulus);
    if (does !== 'greet') return NOTHING;
    return { greet: true, verdict: this.#person().verdict };
  }

  /** Words without anything of a machine's are a person's. */
  #person(): AnswerStep {
    const said = this.#said;
    if (this.#told !== undefined || !said || said.hints.length > 0 || this.#asksToWait) return NOTHING;
    this.#isPerson = true;
    return this.#tell('person', { class: 'human', by: 'greeting', evidence: this.#figures() });
  }

  #deadline(): AnswerStep {
    this.#deadlineTold = true;
    const before = this.#state;
    // Whoever still speaks is not spoken over, unless it is no voice.
    const { does } = this.#move(before === 'voice' && this.#words === '' ? 'too_late' : 'deadline');
    const verdict: AnswerVerdict | undefined =
      this.#told === undefined && !this.#options.afterScreening
        ? { class: this.#words === '' ? 'unknown' : 'human', by: 'deadline', evidence: this.#figures() }
        : undefined;
    if (verdict) this.#told = verdict.class;
    return { greet: does === 'greet', verdict };
  }

  #tell(stimulus: 'person' | 'machine', verdict: AnswerVerdict): AnswerStep {
    if (this.#move(stimulus).does !== 'tell') return NOTHING;
    this.#told = verdict.class;
    return { greet: false, verdict };
  }

  /** What was heard, in numbers. */
  #figures(): string[] {
    const heardMs = this.#voicedMs + this.#voice.ms;
    return [
      `voice ${Math.round(heardMs)} ms`,
      ...(this.#carrier === undefined ? [] : [`carrier ${this.#carrier}`]),
    ];
  }

  #move(stimulus: AnswerStimulus): Move<string> {
    const move: Move<string> = ANSWER_TABLE[stimulus][this.#state];
    if (move.next !== undefined) this.#state = move.next;
    return move;
  }
}
