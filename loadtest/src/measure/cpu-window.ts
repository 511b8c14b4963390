import { round3 } from './distribution.ts';
import { machineCpuSeconds, readUsage, type Usage } from './process-usage.ts';
import { measure } from './system-usage.ts';
import type { SystemUnderTest } from '../sut/system.ts';

interface Reading {
  system: Usage | undefined;
  /** Seconds of processor time. */
  own: number;
  helpers: number | undefined;
  machine: number | undefined;
}

/** Who used how much processor time while the figures counted. */
export class CpuWindow {
  readonly #sut: SystemUnderTest;
  readonly #helperPids: readonly number[];
  #from: Reading | undefined;
  #to: Reading | undefined;

  constructor(sut: SystemUnderTest, helperPids: readonly number[]) {
    this.#sut = sut;
    this.#helperPids = helperPids;
  }

  open(): void {
    this.#from = this.#read();
  }

  close(): void {
    this.#to = this.#read();
  }

  /** Of the system under test; null where its processes are not known. */
  get systemSeconds(): number | null {
    const from = this.#from?.system;
    const to = this.#to?.system;
    return from && to ? to.cpuSeconds - from.cpuSeconds : null;
  }

  /** Of this process, the simulator. */
  get ownSeconds(): number {
    return (this.#to?.own ?? 0) - (this.#from?.own ?? 0);
  }

  /** Of emulators and the like. */
  get helperSeconds(): number | null {
    return between(this.#from?.helpers, this.#to?.helpers);
  }

  /** Of the machine, less all of ours. */
  get foreignSeconds(): number | null {
    const machine = between(this.#from?.machine, this.#to?.machine);
    const system = this.systemSeconds;
    if (machine === null || system === null) return null;
    return Math.max(0, machine - system - this.ownSeconds - (this.helperSeconds ?? 0));
  }

  #read(): Reading {
    const own = process.cpuUsage();
    return {
      system: measure(this.#sut),
      own: (own.user + own.system) / 1e6,
      helpers: readUsage(this.#helperPids)?.cpuSeconds,
      machine: machineBusy(),
    };
  }
}

/** Cores in use on average. */
export function coresOf(cpuSeconds: number | null, seconds: number): number | null {
  return cpuSeconds === null ? null : round3(cpuSeconds / seconds);
}

function between(from: number | undefined, to: number | undefined): number | null {
  return from === undefined || to === undefined ? null : to - from;
}

/** Seconds that all cores together were busy so far. */
function machineBusy(): number | undefined {
  const cores = machineCpuSeconds();
  return cores.length === 0 ? undefined : cores.reduce((sum, core) => sum + core, 0);
}
