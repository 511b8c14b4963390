import type { CallMetrics, CallReport } from '@parley/shared/contracts/call-events';
import type { Usage } from '@parley/shared/contracts/usage';
import { NOTHING_USED, countUse, usedSince } from '@parley/shared/contracts/call-prices';
import type { UsedModel } from '@parley/shared/contracts/call-prices';
import type { RecordingResult } from '@parley/shared/contracts/recordings';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { TimedWord, Turn, TurnLatency } from '@parley/shared/contracts/turn';
import type { VariableChanges } from './variable-changes.ts';
import type { CallReporter } from '../reporting/call-reporter.ts';

/** What was said in a call and how long things took: the source of its turns, metrics and report. */
export class TurnLog {
  readonly #reporter: CallReporter;
  readonly #turns: Turn[] = [];
  readonly #changes: VariableChanges;
  #nextTurn: number;
  readonly #samples = {
    turn_e2e_ms: new Samples(),
    stt_final_ms: new Samples(),
    llm_first_token_ms: new Samples(),
    tts_first_audio_ms: new Samples(),
    knowledge_ms: new Samples(),
    tool_ms: new Samples(),
    caller_reply_ms: new Samples(),
    thought_ahead_ms: new Samples(),
  };
  readonly usage: Usage = { ...NOTHING_USED };
  /** Audio that was heard and is not in `usage` yet, and by which model. */
  #heardMs = 0;
  #heardBy: UsedModel | undefined;
  readonly #handOvers: NonNullable<CallReport['hand_overs']> = [];

  /** @param history turns of earlier legs: numbering goes on after them */
  constructor(reporter: CallReporter, history: readonly Turn[], changes: VariableChanges) {
    this.#reporter = reporter;
    this.#changes = changes;
    this.#turns.push(...history);
    this.#nextTurn = history.reduce((next, turn) => Math.max(next, turn.turn_index + 1), 0);
  }

  /** The next number: turns are numbered when they begin, and reported when they are final. */
  newTurnIndex(): number {
    return this.#nextTurn++;
  }

  /** The number that the next turn will get. */
  get nextTurnIndex(): number {
    return this.#nextTurn;
  }

  /** How often the caller has taken a turn, with words or keys. */
  get callerTurns(): number {
    return this.#turns.filter(({ role, backchannel }) => role === 'caller' && !backchannel).length;
  }

  get turns(): readonly Turn[] {
    return this.#turns;
  }

  /** Notes caller audio that an STT hears: for each frame, so that it only adds. `countHeard` brings it into `usage`. */
  heard(model: UsedModel | undefined, durationMs: number): void {
    if (model !== this.#heardBy) {
      this.countHeard();
      this.#heardBy = model;
    }
    this.#heardMs += durationMs;
  }

  /**
   * Brings what was heard into `usage`; to be called before the usage is told.
   * @param atLeastMs as the call goes on: less than that may wait
   */
  countHeard(atLeastMs = 0): void {
    if (this.#heardMs === 0 || this.#heardMs < atLeastMs) return;
    countUse(this.usage, this.#heardBy, { stt_seconds: this.#heardMs / 1000 });
    this.#heardMs = 0;
  }

  /** Another agent has taken the call over: what is used from now on is its. */
  agentChanged(handoverId: string): void {
    this.countHeard();
    this.#handOvers.push({ handover_id: handoverId, usage: usedSince(NOTHING_USED, this.usage) });
  }

  /**
   * Stores and reports a turn; it replaces an earlier one of the same number.
   * @param words told with it, and not in the report of the call
   */
  commit(turn: Turn, words?: readonly TimedWord[]): void {
    const known = this.#turns.findIndex((other) => other.turn_index === turn.turn_index);
    if (known !== -1) this.#turns[known] = turn;
    else this.#turns.push(turn);
    if (turn.latency && known === -1) this.#addLatency(turn.latency);
    const told = { ...turn, ...(words && { words: [...words] }), ...this.#changes.take() };
    this.#reporter.emit('turn', told, turn.end_ms);
  }

  addSample(kind: 'tool_ms' | 'knowledge_ms' | 'caller_reply_ms', ms: number): void {
    this.#samples[kind].add(Math.max(0, Math.round(ms)));
  }

  #addLatency(latency: TurnLatency): void {
    if (latency.e2e !== null) this.#samples.turn_e2e_ms.add(latency.e2e);
    if (latency.stt_final !== null) this.#samples.stt_final_ms.add(latency.stt_final);
    if (latency.llm_first_token !== null) this.#samples.llm_first_token_ms.add(latency.llm_first_token);
    if (latency.tts_first_audio !== null) this.#samples.tts_first_audio_ms.add(latency.tts_first_audio);
    if (latency.thought_ahead !== null) this.#samples.thought_ahead_ms.add(latency.thought_ahead);
  }

  report(facts: {
    answeredAt: number;
    endedAt: number;
    reason: CallEndReason;
    agentTalkMs: number;
    transferMs: number;
    variables: Record<string, string>;
    language: string;
    recording: RecordingResult | undefined;
  }): CallReport {
    this.countHeard();
    const durationMs = Math.max(0, Math.round(facts.endedAt - facts.answeredAt));
    return {
      answered_at: new Date(facts.answeredAt).toISOString(),
      ended_at: new Date(facts.endedAt).toISOString(),
      ...facts.reason,
      duration_ms: durationMs,
      agent_talk_ms: facts.agentTalkMs,
      transfer_ms: facts.transferMs,
      turns: this.#turns.toSorted((a, b) => a.turn_index - b.turn_index),
      turns_truncated: false,
      metrics: this.#metrics(),
      usage: { ...usedSince(NOTHING_USED, this.usage), carrier_seconds: durationMs / 1000 },
      ...(this.#handOvers.length > 0 && { hand_overs: [...this.#handOvers] }),
      variables: facts.variables,
      language: facts.language,
      ...(facts.recording === undefined ? {} : { recording: facts.recording }),
      last_index: this.#reporter.lastIndex,
    };
  }

  #metrics(): CallMetrics {
    const stats = Object.fromEntries(
      Object.entries(this.#samples).map(([name, { summary }]) => [name, summary]),
    );
    return { turns: this.#turns.length, ...stats } as CallMetrics;
  }
}

/** How long one thing took, each time. A call is reported far more often than a sample is added. */
class Samples {
  readonly #values: number[] = [];
  #summary: CallMetrics['turn_e2e_ms'] = null;

  add(ms: number): void {
    this.#values.push(ms);
    this.#summary = null;
  }

  /** Null without samples. */
  get summary(): CallMetrics['turn_e2e_ms'] {
    if (this.#values.length > 0) this.#summary ??= summarise(this.#values);
    return this.#summary;
  }
}

function summarise(samples: readonly number[]): NonNullable<CallMetrics['turn_e2e_ms']> {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)]!;
  const sum = sorted.reduce((total, value) => total + value, 0);
  return {
    count: sorted.length,
    avg: Math.round((sum / sorted.length) * 10) / 10,
    p50: at(0.5),
    p90: at(0.9),
    p95: at(0.95),
    max: sorted.at(-1)!,
  };
}
