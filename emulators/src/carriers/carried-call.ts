import {
  CallProgress,
  type ConnectingCall,
  type EmulatedCallEnd,
  type PlaceCallOptions,
} from '../callers/emulated-call.ts';
import type { CarrierLine } from '../callers/carrier-line.ts';

/** A call at any carrier, for who placed it: its numbers, its stream and its end. */
export abstract class CarriedCall implements ConnectingCall {
  abstract readonly carrier: ConnectingCall['carrier'];
  abstract readonly callId: string;
  readonly from: string;
  readonly to: string;
  protected readonly progress = new CallProgress();

  constructor({ from, to }: Pick<PlaceCallOptions, 'from' | 'to'>) {
    this.from = from;
    this.to = to;
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
