import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { sleep } from '@parley/shared/async/timeout';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import { CarrierLine } from '@parley/emulators/callers/carrier-line';
import { frameClock } from '@parley/emulators/callers/frame-clock';
import type { LineNoise } from '@parley/emulators/noise/line-noise';
import { Surroundings } from '@parley/emulators/noise/surroundings';
import type { CallerSpeech } from '@parley/emulators/speech/caller-speech';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { MAX_LATENESS_P99_MS } from '../load-result.ts';
import { Distribution, round } from '../measure/distribution.ts';
import { CpuWindow } from '../measure/cpu-window.ts';
import type { SystemUnderTest } from '../sut/system.ts';
import { addCall, newFigures, type RoomFigures } from './call-timeline.ts';
import { callFromRoom, RoomEar } from './room-caller.ts';
import { ROOM_TAG, roomTalk } from './room-talk.ts';

/** Callers begin so far apart that they do not speak in step. */
const RAMP_MS = 370;

/** What calls in one noise came to. */
export interface RoomResult {
  /** As `--noise` has it; `quiet` for none. */
  noise: string;
  figures: RoomFigures;
  /** Of the system under test, without what it takes when idle; null where its processes are not known. */
  cpuSecondsPerCallMinute: number | null;
  latenessP99Ms: number;
  /** The callers kept their time. */
  valid: boolean;
  /** Cores that others on the machine used. */
  foreignCores: number | null;
  refused: number;
}

/** Places calls from one noise, some at once, each to its end. */
export async function runRoom(options: {
  sut: SystemUnderTest;
  name: string;
  noise: LineNoise | undefined;
  speech: CallerSpeech;
  carrier: CarrierName;
  calls: number;
  atOnce: number;
  /** Cores that the system takes when nobody calls. */
  idleCores: number;
  helperPids: readonly number[];
  signal: AbortSignal;
  onCall: (done: number) => void;
}): Promise<RoomResult> {
  const { sut, noise, speech, calls, atOnce, signal } = options;
  const figures = newFigures();
  const lateness = new Distribution();
  frameClock.onLateness = (ms) => lateness.add(ms);
  const cpu = new CpuWindow(sut, options.helperPids);
  let next = 0;
  let refused = 0;

  async function caller(): Promise<void> {
    while (next < calls && !signal.aborted) {
      const number = next++;
      const random = seededRandom(number + 1);
      const destination = await sut.dial({
        conversation: ROOM_TAG,
        carrier: options.carrier,
        variant: number,
      });
      const ear = new RoomEar();
      const room = new Surroundings(noise, Math.floor(random() * (noise?.frames ?? 1)));
      let line: CarrierLine;
      try {
        line = await CarrierLine.open({
          url: destination.url,
          carrier: options.carrier,
          ids: {
            callId: randomUUID(),
            streamId: randomUUID(),
            accountId: 'MANOISE',
            from: '+14155550100',
            to: '+14155550199',
            sequence: 0,
          },
          headers: destination.headers ?? {},
          ca: destination.ca,
          events: ear,
          background: room,
          keepHeard: true,
        });
      } catch {
        refused++;
        continue;
      }
      const steps = roomTalk(random);
      const call = await callFromRoom({ line, ear, room, steps, speech, random, signal });
      if (signal.aborted) return;
      addCall(figures, call);
      options.onCall(figures.calls);
    }
  }

  const startedAt = performance.now();
  cpu.open();
  try {
    const callers = Array.from({ length: Math.min(atOnce, calls) }, async (_, index) => {
      await sleep(index * RAMP_MS, signal).catch(() => undefined);
      await caller();
    });
    await Promise.all(callers);
  } finally {
    frameClock.onLateness = undefined;
    cpu.close();
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const busySeconds = cpu.systemSeconds === null ? null : cpu.systemSeconds - options.idleCores * seconds;
  const latenessP99Ms = round(lateness.quantile(0.99));
  return {
    noise: options.name,
    figures,
    cpuSecondsPerCallMinute:
      busySeconds === null || figures.callMs === 0 ? null : busySeconds / (figures.callMs / 60_000),
    latenessP99Ms,
    valid: latenessP99Ms <= MAX_LATENESS_P99_MS,
    foreignCores: cpu.foreignSeconds === null ? null : round(cpu.foreignSeconds / seconds),
    refused,
  };
}
