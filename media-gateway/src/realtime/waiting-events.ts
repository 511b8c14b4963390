import type { ClientEvent } from './client-events.ts';

const MAX_EVENTS = 64;
const MAX_BYTES = 1024 * 1024;
/** A second of 24 kHz PCM. */
const MAX_AUDIO_BYTES = 48_000;
const BASE64_TO_BYTES = 3 / 4;

type Append = Extract<ClientEvent, { type: 'input_audio_buffer.append' }>;

/** Events of a client that wait for its call, in order. Of caller audio only the newest second is kept. */
export class WaitingEvents {
  #events: ClientEvent[] = [];
  #others = 0;
  #otherBytes = 0;
  #audioBytes = 0;

  /** @param bytes of the message @returns false when there are too many */
  push(event: ClientEvent, bytes: number): boolean {
    if (event.type === 'input_audio_buffer.append') {
      this.#pushAudio(event);
      return true;
    }
    this.#others++;
    this.#otherBytes += bytes;
    if (this.#others > MAX_EVENTS || this.#otherBytes > MAX_BYTES) return false;
    this.#events.push(event);
    return true;
  }

  /** Takes the settings that came before anything else. */
  takeSettings(): Extract<ClientEvent, { type: 'session.update' }>[] {
    const settings = [];
    for (let first = this.#events[0]; first?.type === 'session.update'; first = this.#events[0]) {
      settings.push(first);
      this.#events.shift();
    }
    return settings;
  }

  /** Takes everything. */
  take(): ClientEvent[] {
    return this.#events.splice(0);
  }

  #pushAudio(event: Append): void {
    this.#events.push(event);
    this.#audioBytes += event.audio.length * BASE64_TO_BYTES;
    while (this.#audioBytes > MAX_AUDIO_BYTES) {
      const at = this.#events.findIndex(isAppend);
      const oldest = this.#events[at]!;
      // One piece may be longer than that: the participant keeps its end.
      if (!isAppend(oldest) || oldest === event) break;
      this.#events.splice(at, 1);
      this.#audioBytes -= oldest.audio.length * BASE64_TO_BYTES;
    }
  }
}

function isAppend(event: ClientEvent): event is Append {
  return event.type === 'input_audio_buffer.append';
}
