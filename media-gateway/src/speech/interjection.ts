import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import type { Participant } from '../participants/participant.ts';
import type { BackgroundBed } from './background-bed.ts';
import type { ListenerClock } from './listener-clock.ts';
import type { EchoReference } from './playout.ts';

/** How far ahead of the listener it is, and what goes out at a time. */
const LEAD_MS = 200;
const CHUNK_MS = 100;

interface Sound {
  audio: Uint8Array;
  sentBytes: number;
  /** When the far end begins to play it, monotonic ms. */
  startsAt: number;
  onHeard: (heard: { bytes: Uint8Array; startedAt: number }) => void;
}

/**
 * A short sound of the agent while it has not the floor: no speech, and none of its account. The first audio of a speech
 * ends it, so that nothing waits for it.
 */
export class Interjection {
  readonly #participant: Participant;
  readonly #listener: ListenerClock;
  readonly #bed: BackgroundBed;
  readonly #echo: EchoReference | undefined;
  readonly #format: AudioFormat;
  readonly #bytesPerMs: number;
  #sound: Sound | undefined;

  constructor(deps: {
    participant: Participant;
    listener: ListenerClock;
    bed: BackgroundBed;
    echo: EchoReference | undefined;
    format: AudioFormat;
  }) {
    this.#participant = deps.participant;
    this.#listener = deps.listener;
    this.#bed = deps.bed;
    this.#echo = deps.echo;
    this.#format = deps.format;
    this.#bytesPerMs = bytesPerMs(deps.format);
  }

  /** A sound is being heard, or about to be. */
  get audible(): boolean {
    return this.#sound !== undefined;
  }

  /** Begins a sound, unless there is one. @param onHeard what was heard of it, once that is known */
  play(audio: Uint8Array, now: number, onHeard: Sound['onHeard']): void {
    if (this.#sound || audio.length === 0) return;
    this.#sound = { audio, sentBytes: 0, startsAt: Math.max(now, this.#listener.dryAt), onHeard };
    this.pump(now);
  }

  /** Sends what is due. */
  pump(now: number): void {
    const sound = this.#sound;
    if (!sound) return;
    while (sound.sentBytes < sound.audio.length && this.#listener.lead(now) <= LEAD_MS - CHUNK_MS) {
      const chunk = sound.audio.subarray(sound.sentBytes, sound.sentBytes + CHUNK_MS * this.#bytesPerMs);
      const playsAt = Math.max(now, this.#listener.dryAt);
      this.#listener.sendOther(chunk.length, now);
      const bytes = this.#bed.under(chunk);
      this.#participant.play(bytes, 0);
      this.#echo?.agentSaid(bytes, this.#format, playsAt);
      sound.sentBytes += chunk.length;
    }
    if (sound.sentBytes === sound.audio.length && now >= this.#endOf(sound)) this.#over(sound, now);
  }

  /** Ends it at once: the far end drops what it has not played. */
  stop(now: number): void {
    const sound = this.#sound;
    if (!sound) return;
    if (now < this.#endOf(sound)) {
      this.#bed.cleared(now);
      this.#participant.clear();
      this.#echo?.agentCleared(now);
      this.#listener.clear();
    }
    this.#over(sound, now);
  }

  /** When the far end has played what it was sent of it. */
  #endOf(sound: Sound): number {
    return sound.startsAt + sound.sentBytes / this.#bytesPerMs;
  }

  #over(sound: Sound, now: number): void {
    this.#sound = undefined;
    const played = this.#listener.wholeSamples(Math.max(0, now - sound.startsAt) * this.#bytesPerMs);
    const bytes = sound.audio.subarray(0, Math.min(played, sound.sentBytes));
    if (bytes.length > 0) sound.onHeard({ bytes, startedAt: sound.startsAt });
  }
}
