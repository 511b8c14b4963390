import type { CallEventData, CallReport } from '@parley/shared/contracts/call-events';
import type { TimedWord, Turn } from '@parley/shared/contracts/turn';
import type { MaskedTurn } from '@parley/shared/redaction/conversation-redaction';
import type { CallRecorder } from '../recording/call-recorder.ts';
import type { CallReporter, ReportedType } from '../reporting/call-reporter.ts';
import type { CallRedaction } from './call-redaction.ts';

/** Fields of events that hold what was said, or what tools were told. */
const TEXTS: Readonly<Partial<Record<ReportedType, readonly string[]>>> = {
  turn_decision: ['words'],
  tool_started: ['arguments'],
  tool_finished: ['result'],
  remember: ['content'],
  do_not_call: ['reason'],
  warning: ['error', 'reason'],
};
/** A turn as it is reported by itself. */
type ToldTurn = Turn & { words?: readonly TimedWord[] };

/** Keys that were pressed, of which nobody knows yet whether they are a choice of a menu or part of a number. */
const KEY = 'x';
const SHORTEST_CODE = 3;

/**
 * Masks all that a call reports, before it is stored, sent or written to disk: the one place where this is done.
 * A turn that a later one completes is reported again.
 */
export class RedactingReporter implements CallReporter {
  readonly #reporter: CallReporter;
  readonly #redaction: CallRedaction;
  readonly #recorder: Pick<CallRecorder, 'redact'>;
  /** As the session was given them. */
  readonly #variables: Readonly<Record<string, string>>;
  readonly #turns = new Map<number, { turn: ToldTurn; masked: Turn }>();
  /** Turns that were never reported by themselves: of earlier legs, or not over. */
  readonly #others = new WeakMap<Turn, Turn>();

  constructor(deps: {
    reporter: CallReporter;
    redaction: CallRedaction;
    recorder: Pick<CallRecorder, 'redact'>;
    variables: Readonly<Record<string, string>>;
  }) {
    this.#reporter = deps.reporter;
    this.#redaction = deps.redaction;
    this.#recorder = deps.recorder;
    this.#variables = { ...deps.variables };
  }

  get lastIndex(): number {
    return this.#reporter.lastIndex;
  }

  emit<T extends ReportedType>(type: T, data: CallEventData<T>, offsetMs: number): void {
    if (!this.#conversation.active) this.#reporter.emit(type, data, offsetMs);
    // What is said next may show that it is to be masked.
    else if (type === 'words') return;
    else if (type === 'turn') this.#takeTurn(this.#withVariables(data as ToldTurn));
    else this.#reporter.emit(type, this.#withVariables(this.#masked(type, data)), offsetMs);
  }

  saveProgress(report: CallReport, options?: { over: boolean }): void {
    if (options?.over) this.#settle();
    this.#reporter.saveProgress(this.#report(report), options);
  }

  end(report: CallReport): Promise<void> {
    this.#settle();
    return this.#reporter.end({
      ...this.#report(report),
      last_index: Math.max(report.last_index, this.lastIndex),
    });
  }

  get #conversation() {
    return this.#redaction.conversation;
  }

  #takeTurn(turn: ToldTurn): void {
    this.#turns.set(turn.turn_index, { turn, masked: turn });
    this.#tell(this.#conversation.turn(turn.turn_index, { role: turn.role, text: turn.text }));
    const [open] = this.#conversation.open;
    const heldBack = open === undefined ? undefined : this.#turns.get(open)?.turn;
    this.#recorder.redact?.judged(heldBack ? heldBack.start_ms : turn.end_ms);
  }

  #settle(): void {
    if (this.#conversation.active) this.#tell(this.#conversation.settle());
  }

  #tell(changes: readonly MaskedTurn<number>[]): void {
    for (const { id, text, redacted } of changes) {
      const known = this.#turns.get(id);
      if (!known) continue;
      const { words, ...turn } = known.turn;
      known.masked = { ...turn, text, redacted };
      // Nobody has looked at words that are not those of the text.
      const told =
        words && text === turn.text && lettersOf(words) === lettersOf([turn]) ? [...words] : undefined;
      this.#reporter.emit('turn', { ...known.masked, ...(told && { words: told }) }, turn.end_ms);
      const { role, start_ms, end_ms } = known.turn;
      if (redacted) this.#recorder.redact?.mute(role === 'caller' ? 'caller' : 'agent', start_ms, end_ms);
    }
  }

  #masked<T extends ReportedType>(type: T, data: CallEventData<T>): CallEventData<T> {
    if (type === 'dtmf') return this.#keys(data as CallEventData<'dtmf'>) as CallEventData<T>;
    const fields = TEXTS[type];
    if (!fields) return data;
    const copy: Record<string, unknown> = { ...data };
    for (const name of fields) {
      const text = copy[name];
      if (typeof text === 'string') copy[name] = this.#conversation.text(text);
    }
    return copy as CallEventData<T>;
  }

  #keys(data: CallEventData<'dtmf'>): CallEventData<'dtmf'> {
    if (!this.#conversation.masksNumbers) return data;
    if (data.direction === 'received') return { ...data, digit: KEY };
    return data.digits.length < SHORTEST_CODE ? data : { ...data, digits: KEY.repeat(data.digits.length) };
  }

  #report(report: CallReport): CallReport {
    if (!this.#conversation.active) return report;
    return this.#withVariables({ ...report, turns: report.turns.map((turn) => this.#turnOf(turn)) });
  }

  /** Masks what variables have come to hold in the call. */
  #withVariables<T extends object>(data: T): T {
    const { variables } = data as { variables?: Record<string, string> };
    if (!variables) return data;
    const masked = Object.entries(variables).map(([name, value]) => [
      name,
      value === this.#variables[name] ? value : this.#conversation.text(value),
    ]);
    return { ...data, variables: Object.fromEntries(masked) };
  }

  #turnOf(turn: Turn): Turn {
    const known = this.#turns.get(turn.turn_index);
    if (known?.turn.text === turn.text)
      return { ...turn, text: known.masked.text, redacted: known.masked.redacted };
    let masked = this.#others.get(turn);
    if (!masked) {
      const text = this.#conversation.peek({ role: turn.role, text: turn.text });
      this.#others.set(turn, (masked = { ...turn, text, redacted: turn.redacted || text !== turn.text }));
    }
    return masked;
  }
}

function lettersOf(texts: readonly { text: string }[]): string {
  return texts
    .map(({ text }) => text)
    .join('')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '');
}
