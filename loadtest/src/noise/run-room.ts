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

/** A room that is called from. */
export interface Room {
  /** As `--noise` has it; `quiet` for none. */
  noise: string;
  line: LineNoise | undefined;
}

/** What calls from one room came to. */
export interface RoomResult {
  /** Who was called. */
  system: string;
  noise: string;
  figures: RoomFigures;
  refused: number;
  /** Of the run, which other rooms may have shared. */
  run: RoomRun;
}

export interface RoomRun {
  /** Of the system under test, without what it takes when idle; null where its processes are not known. */
  cpuSecondsPerCallMinute: number | null;
  latenessP99Ms: number;
  /** The callers kept their time. */
  valid: boolean;
  /** Cores that others on the machine used. */
  foreignCores: number | null;
}

/** Places the same calls from each room, those of all rooms side by side, each to its end. */
export async function runRooms(options: {
  sut: SystemUnderTest;
  rooms: readonly Room[];
  speech: CallerSpeech;
  carrier: CarrierName;
  /** From each room. */
  calls: number;
  /** From all rooms together. */
  atOnce: number;
  /** Cores that the system takes when nobody calls. */
  idleCores: number;
  helperPids: readonly number[];
  signal: AbortSignal;
  onCall: (done: number) => void;
}): Promise<RoomResult[]> {
  const { sut, rooms, speech, atOnce, signal } = options;
  const calls = options.calls * rooms.length;
  const found = rooms.map(() => ({ figures: newFigures(), refused: 0 }));
  const lateness = new Distribution();
  frameClock.onLateness = (ms) => lateness.add(ms);
  const cpu = new CpuWindow(sut, options.helperPids);
  let next = 0;
  let done = 0;

  async function caller(): Promise<void> {
    while (next < calls && !signal.aborted) {
      const number = next++;
      const { line: noise } = rooms[number % rooms.length]!;
      const counted = found[number % rooms.length]!;
      const random = seededRandom(Math.floor(number / rooms.length) + 1);
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
        counted.refused++;
        continue;
      }
      const steps = roomTalk(random);
      const call = await callFromRoom({ line, ear, room, steps, speech, random, signal });
      if (signal.aborted) return;
      addCall(counted.figures, call);
      options.onCall(++done);
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
  const callMinutes = found.reduce((sum, { figures }) => sum + figures.callMs, 0) / 60_000;
  const latenessP99Ms = round(lateness.quantile(0.99));
  const run: RoomRun = {
    cpuSecondsPerCallMinute: busySeconds === null || callMinutes === 0 ? null : busySeconds / callMinutes,
    latenessP99Ms,
    valid: latenessP99Ms <= MAX_LATENESS_P99_MS,
    foreignCores: cpu.foreignSeconds === null ? null : round(cpu.foreignSeconds / seconds),
  };
  return rooms.map(({ noise }, index) => ({ system: sut.name, noise, ...found[index]!, run }));
}
