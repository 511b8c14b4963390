import type { TimedWord, Turn, TurnLatency } from '@parley/shared/contracts/turn';
import type { HeardWord } from '../speech/speech.ts';
import type { CallerWords } from '../turns/caller-turns.ts';
import type { CallClock } from './call-clock.ts';
import type { TurnLog } from './turn-log.ts';
import { toTimedWords } from './turn-words.ts';

/** What of a reply was heard, and how it came about. */
interface HeardReply {
  text: string;
  words: readonly HeardWord[];
  /** Monotonic ms. */
  startedAt: number;
  endedAt: number;
  interrupted: boolean;
  /** The node of the flow in which it began; undefined: the one that the call is in. */
  nodeId: string | undefined;
  latency: TurnLatency;
}

/** Writes what each side said as turns of the record, each with its time in the call and its node of the flow. */
export class TurnWriter {
  readonly #log: TurnLog;
  readonly #clock: CallClock;
  readonly #nodeId: () => string | undefined;
  readonly #onTurn: () => void;

  /** @param deps.onTurn the record has a new turn in it @param deps.nodeId the node that the call is in, of a flow */
  constructor(deps: {
    log: TurnLog;
    clock: CallClock;
    nodeId: () => string | undefined;
    onTurn: () => void;
  }) {
    this.#log = deps.log;
    this.#clock = deps.clock;
    this.#nodeId = deps.nodeId;
    this.#onTurn = deps.onTurn;
  }

  /** The number of a turn that begins. */
  newIndex(): number {
    return this.#log.newTurnIndex();
  }

  /** @param backchannel the words take no turn */
  callerSaid(turnIndex: number, words: CallerWords, backchannel = false): void {
    const { text, confidence, language, startMs, endMs } = words;
    const turn: Turn = {
      turn_index: turnIndex,
      role: 'caller',
      text,
      start_ms: startMs,
      end_ms: endMs,
      ...(language === undefined ? {} : { language }),
      interrupted: false,
      ...(backchannel && { backchannel }),
      ...(confidence === undefined ? {} : { confidence: toProbability(confidence) }),
      ...inNode(this.#nodeId()),
      redacted: false,
    };
    this.#write(turn, toTimedWords(words.words ?? []));
  }

  /** A text of the caller that has no length in time: written, or keys. */
  callerWrote(turnIndex: number, text: string): void {
    const at = this.#clock.offset();
    this.#write({
      turn_index: turnIndex,
      role: 'caller',
      text,
      start_ms: at,
      end_ms: at,
      interrupted: false,
      ...inNode(this.#nodeId()),
      redacted: false,
    });
  }

  agentSaid(turnIndex: number, reply: HeardReply): void {
    const { text, startedAt, endedAt, interrupted, nodeId, latency } = reply;
    const words = reply.words.map((word) => ({
      text: word.text,
      startMs: this.#clock.offsetOf(word.startedAt),
      endMs: this.#clock.offsetOf(word.endedAt),
    }));
    const turn: Turn = {
      turn_index: turnIndex,
      role: 'agent',
      text,
      start_ms: this.#clock.offsetOf(startedAt),
      end_ms: this.#clock.offsetOf(endedAt),
      interrupted,
      redacted: false,
      ...inNode(nodeId ?? this.#nodeId()),
      latency,
    };
    this.#write(turn, toTimedWords(words));
  }

  /** Words that the agent said while the caller had the floor. Monotonic ms. */
  agentBackchannel(turnIndex: number, text: string, startedAt: number, endedAt: number): void {
    this.#write({
      turn_index: turnIndex,
      role: 'agent',
      text,
      start_ms: this.#clock.offsetOf(startedAt),
      end_ms: this.#clock.offsetOf(endedAt),
      interrupted: false,
      backchannel: true,
      ...inNode(this.#nodeId()),
      redacted: false,
    });
  }

  #write(turn: Turn, words?: readonly TimedWord[]): void {
    this.#log.commit(turn, words);
    this.#onTurn();
  }
}

const inNode = (nodeId: string | undefined) => (nodeId === undefined ? {} : { node_id: nodeId });

/** Providers' confidences, and the means of several, as four decimals from 0 to 1. */
function toProbability(confidence: number): number {
  return Math.round(Math.min(1, Math.max(0, confidence)) * 1e4) / 1e4;
}
