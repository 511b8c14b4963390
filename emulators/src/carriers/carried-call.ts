import {
  CallProgress,
  type ConnectingCall,
  type EmulatedCallEnd,
  type PlaceCallOptions,
} from '../callers/emulated-call.ts';
import type { CarrierLine, LineEvents } from '../callers/carrier-line.ts';
import { KeyEar } from '../callers/key-ear.ts';

/** A call at any carrier, for who placed it: its numbers, its stream and its end. */
export abstract class CarriedCall implements ConnectingCall {
  abstract readonly carrier: ConnectingCall['carrier'];
  abstract readonly callId: string;
  readonly from: string;
  readonly to: string;
  protected readonly progress = new CallProgress();
  protected readonly lineEvents: LineEvents & Required<Pick<LineEvents, 'onDigits'>>;
  #onKeys: ((digits: string) => void) | undefined;
  #ear: KeyEar | undefined;

  constructor({ from, to, events }: Pick<PlaceCallOptions, 'from' | 'to' | 'events'>) {
    this.from = from;
    this.to = to;
    this.lineEvents = {
      ...events,
      onDigits: (digits) => {
        events?.onDigits?.(digits);
        this.#onKeys?.(digits);
      },
      onAgentAudio: (line, atMs, bytes, voiced) => {
        events?.onAgentAudio?.(line, atMs, bytes, voiced);
        this.#ear?.push(bytes);
      },
    };
  }

  hearKeys(onKeys: (digits: string) => void): void {
    this.#onKeys = onKeys;
    this.#ear = new KeyEar(onKeys);
  }

  get ended(): Promise<EmulatedCallEnd> {
    return this.progress.ended;
  }

  get line(): CarrierLine {
    return this.progress.line;
  }

  lineAfter(line: CarrierLine): Promise<CarrierLine | undefined> {
    return this.progress.lineAfter(line);
  }

  connected(): Promise<void> {
    return this.progress.connected();
  }

  /** As a person does at the telephone. */
  abstract hangUp(): void;
}
