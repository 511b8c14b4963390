import type { Clock, Timer } from '@parley/shared/time/clock';
import { sampleMs } from '../../server/delays.ts';
import type { Delay } from '../../server/delays.ts';
import type { WireSocket } from '../../server/wire-socket.ts';
import { resetConnection } from '../../server/emulator-server.ts';
import type { Fault, FaultPlan } from '../../server/faults.ts';

export const DEEPGRAM_FAULTS = [
  'refuse',
  'rate_limit',
  'slow_handshake',
  'stall',
  'cut',
  'reset',
  'garbage',
  'never_speech_final',
  'finalize_unanswered',
] as const;

/**
 * Faults of this emulator beside the common ones. Those of a stream are drawn when speech starts, so that one set
 * between two utterances strikes the second; `after` counts the messages still sent from there.
 * - `never_speech_final`: this utterance gets finals, but its end is never reported (Flux: no `EndOfTurn`)
 * - `finalize_unanswered`: one `Finalize` is ignored
 */
export type DeepgramFault = (typeof DEEPGRAM_FAULTS)[number];

/** One JSON text message. */
export interface WireMessage {
  type: string;
  [field: string]: unknown;
}

/** A message still to be made, or `close`. */
type Step = { dueMs: number; run: () => void };

/**
 * Sends a connection's messages in order, each when its delay has passed, and lets the faults of the stream strike.
 * Holds little: messages come a few a second, and a client that does not read them is cut off.
 */
export class SendQueue {
  /** The end of the present utterance must not be reported. */
  withholdsEnd = false;
  readonly #socket: WireSocket;
  readonly #faults: FaultPlan<DeepgramFault>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #onMessage: (type: string) => void;
  readonly #onUtterance: () => void;
  #queue: Step[] = [];
  #timer: Timer | undefined;
  #fault: Fault<DeepgramFault> | undefined;
  #untilFault = 0;
  #stalled = false;
  #closed = false;

  constructor(options: {
    socket: WireSocket;
    faults: FaultPlan<DeepgramFault>;
    clock: Clock;
    random: () => number;
    /** Counts what was sent, by its `type`. */
    onMessage: (type: string) => void;
    onUtterance: () => void;
  }) {
    this.#socket = options.socket;
    this.#faults = options.faults;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#onMessage = options.onMessage;
    this.#onUtterance = options.onUtterance;
  }

  /** Draws what goes wrong with the utterance that starts now. */
  startUtterance(): void {
    this.#onUtterance();
    this.withholdsEnd = this.#faults.take(['never_speech_final']) !== undefined;
    if (this.#fault || this.#stalled) return;
    this.#fault = this.#faults.take(
      ['stall', 'cut', 'reset', 'garbage', 'rate_limit'],
      (fault) => fault.kind !== 'rate_limit' || fault.after !== undefined,
    );
    this.#untilFault = this.#fault?.after ?? 0;
  }

  /** Whether a `Finalize` that arrives now is to be ignored. */
  ignoresFinalize(): boolean {
    return this.#faults.take(['finalize_unanswered']) !== undefined;
  }

  send(message: WireMessage, delay: Delay): void {
    this.#enqueue(delay, () => {
      if (this.#stalled || this.#strike()) return;
      this.#socket.send(JSON.stringify(message));
      this.#onMessage(message.type);
      if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) this.#socket.terminate();
    });
  }

  /** Closes after everything that was sent before. */
  close(code: number | undefined, reason: string): void {
    this.#enqueue(0, () => {
      this.#closed = true;
      if (code === undefined) this.#socket.close();
      else this.#socket.close(code, reason);
    });
  }

  /** Forgets what has not been sent yet. */
  dispose(): void {
    this.#closed = true;
    this.#queue = [];
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #enqueue(delay: Delay, run: () => void): void {
    if (this.#closed) return;
    // A message never overtakes the one before it.
    const earliestMs = this.#queue.at(-1)?.dueMs ?? 0;
    const dueMs = Math.max(earliestMs, this.#clock.monotonic() + sampleMs(delay, this.#random));
    this.#queue.push({ dueMs, run });
    if (!this.#timer) this.#drain();
  }

  #drain(): void {
    this.#timer = undefined;
    for (;;) {
      const step = this.#queue[0];
      if (!step || this.#closed) return;
      const waitMs = step.dueMs - this.#clock.monotonic();
      if (waitMs > 0) {
        this.#timer = this.#clock.setTimeout(() => this.#drain(), waitMs);
        return;
      }
      this.#queue.shift();
      step.run();
    }
  }

  /** @returns true when the message must not be sent */
  #strike(): boolean {
    const fault = this.#fault;
    if (!fault) return false;
    if (this.#untilFault > 0) {
      this.#untilFault -= 1;
      return false;
    }
    this.#fault = undefined;
    if (fault.kind === 'garbage') {
      this.#socket.send('{"type":"Results","channel":{"alternat');
      return false;
    }
    if (fault.kind === 'stall') {
      this.#stalled = true;
      return true;
    }
    this.#closed = true;
    if (fault.kind === 'reset') resetConnection(this.#socket);
    else if (fault.kind === 'rate_limit') this.#socket.close(1008, 'TOO_MANY_REQUESTS');
    else this.#socket.close(1011, NO_RESPONSE_REASON);
    return true;
  }
}

const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;

/** NET-0000, as on the wire. */
export const NO_RESPONSE_REASON =
  'Deepgram did not provide a response message within the timeout window. See https://dpgr.am/net0000';
/** NET-0001, as on the wire. */
export const NO_AUDIO_REASON =
  'Deepgram did not receive audio data or a text message within the timeout window. See https://dpgr.am/net0001';
