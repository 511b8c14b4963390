// What both clients share: a recording, a clock of 20 ms, and a loudspeaker that plays at real time.
// Node built-ins only.
import { readFileSync } from 'node:fs';

export const FRAME_MS = 20;
const FRAME_BYTES = 160;
const SILENCE = Buffer.alloc(FRAME_BYTES, 0xff);
/** Mean amplitude from which a frame counts as a voice, of 32,768. */
const VOICED = 200;
/** The agent has finished when it was silent for this long. */
const PAUSE_MS = 1200;

/** Amplitude of a mu-law byte (ITU-T G.711). */
function amplitude(byte) {
  const bits = ~byte & 0xff;
  return ((((bits & 0x0f) << 3) + 0x84) << ((bits & 0x70) >> 4)) - 0x84;
}

/** The samples of a WAV file of mu-law, 8 kHz, one channel. */
export function readRecording(file) {
  const wav = readFileSync(file);
  if (wav.toString('latin1', 0, 4) !== 'RIFF') throw new Error(`${file} is no WAV file.`);
  for (
    let at = 12;
    at + 8 <= wav.length;
    at += 8 + wav.readUInt32LE(at + 4) + (wav.readUInt32LE(at + 4) % 2)
  ) {
    const tag = wav.toString('latin1', at, at + 4);
    const isMulaw = () => wav.readUInt16LE(at + 8) === 7 && wav.readUInt32LE(at + 12) === 8000;
    if (tag === 'fmt ' && !isMulaw()) throw new Error(`${file} is not mu-law at 8 kHz.`);
    if (tag === 'data') return wav.subarray(at + 8, at + 8 + wav.readUInt32LE(at + 4));
  }
  throw new Error(`${file} holds no sound.`);
}

/** A caller's telephone: every 20 ms a frame goes out, and what the agent sent is heard. */
export class Telephone {
  #queue = [];
  #speech = Buffer.alloc(0);
  #timer;
  #nextAt = 0;
  #waiting = [];
  #open = true;
  heardMs = 0;
  clears = 0;
  marks = 0;
  #silentMs = 0;

  /** @param send a frame of the caller's, mu-law  @param played told of each mark that was reached */
  constructor({ send, played }) {
    this.send = send;
    this.played = played;
  }

  start() {
    this.#nextAt = performance.now();
    const tick = () => {
      while (this.#open && this.#nextAt <= performance.now()) {
        this.#nextAt += FRAME_MS;
        this.#frame();
      }
      if (this.#open) this.#timer = setTimeout(tick, Math.max(0, this.#nextAt - performance.now()));
    };
    tick();
  }

  stop() {
    this.#open = false;
    clearTimeout(this.#timer);
    for (const { resolve } of this.#waiting.splice(0)) resolve(false);
  }

  /** Audio of the agent's, mu-law. */
  play(mulaw) {
    this.#queue.push({ mulaw, at: 0 });
  }

  mark(name) {
    this.#queue.push({ name });
  }

  /** @returns the marks that were waiting */
  clear() {
    this.clears++;
    return this.#queue.splice(0).flatMap(({ name }) => (name === undefined ? [] : [name]));
  }

  say(recording) {
    this.#speech = Buffer.concat([this.#speech, recording]);
    return this.until(() => this.#speech.length === 0, recording.length / 8 + 2000);
  }

  /** Waits until the agent has said something and is silent. @returns ms of speech; 0 when there was none in time */
  async listen(timeoutMs) {
    const before = this.heardMs;
    await this.until(() => this.heardMs - before >= 200, timeoutMs);
    await this.until(() => this.#silentMs >= PAUSE_MS && this.#queue.length === 0, 60_000);
    return this.heardMs - before;
  }

  /** @returns whether it came true in time, while the call lasted */
  until(condition, timeoutMs) {
    if (condition()) return Promise.resolve(true);
    if (!this.#open) return Promise.resolve(false);
    return new Promise((resolve) =>
      this.#waiting.push({ condition, until: performance.now() + timeoutMs, resolve }),
    );
  }

  #frame() {
    this.#hear();
    const frame = Buffer.from(SILENCE);
    this.#speech.copy(frame, 0, 0, FRAME_BYTES);
    this.#speech = this.#speech.subarray(FRAME_BYTES);
    this.send(frame);
    const now = performance.now();
    this.#waiting = this.#waiting.filter(({ condition, until, resolve }) => {
      const met = condition();
      if (!met && now < until) return true;
      resolve(met);
      return false;
    });
  }

  /** Plays 20 ms of what is queued. */
  #hear() {
    let left = FRAME_BYTES;
    let loudness = 0;
    while (this.#queue.length > 0) {
      const head = this.#queue[0];
      if (head.name !== undefined) {
        // A mark behind this frame is reached with the next one.
        if (left === 0) break;
        this.#queue.shift();
        this.marks++;
        this.played(head.name);
        continue;
      }
      if (left === 0) break;
      const part = head.mulaw.subarray(head.at, head.at + left);
      for (const byte of part) loudness += amplitude(byte);
      head.at += part.length;
      left -= part.length;
      if (head.at >= head.mulaw.length) this.#queue.shift();
    }
    const voiced = loudness > VOICED * FRAME_BYTES;
    if (voiced) this.heardMs += FRAME_MS;
    this.#silentMs = voiced ? 0 : this.#silentMs + FRAME_MS;
  }
}

/** Registers a call with a running installation. @returns `session_id`, `media_ws_url`, `ws_ticket` */
export async function createSession(provider) {
  const { PARLEY_URL = 'http://127.0.0.1:8080', PARLEY_API_KEY, AGENT_ID } = process.env;
  if (!PARLEY_API_KEY || !AGENT_ID) throw new Error('Set PARLEY_API_KEY and AGENT_ID (and PARLEY_URL).');
  const response = await fetch(`${PARLEY_URL}/v1/sessions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${PARLEY_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ agent_id: AGENT_ID, channel: 'telephony', provider }),
  });
  const body = await response.json();
  if (!response.ok) throw new Error(`POST /v1/sessions answered ${response.status}: ${JSON.stringify(body)}`);
  return body;
}

/** The conversation: listens to the greeting, plays two recordings, and listens to each answer. @returns exit code */
export async function converse(telephone, answerTimeoutMs = 30_000) {
  const say = (text) => console.log(text);
  const greeting = await telephone.listen(answerTimeoutMs);
  say(`greeting: heard ${greeting} ms of speech`);
  let answers = 0;
  for (const name of ['hours', 'goodbye']) {
    await telephone.say(readRecording(new URL(`recordings/${name}.wav`, import.meta.url)));
    const answer = await telephone.listen(answerTimeoutMs);
    say(`said ${name}: heard ${answer} ms of speech in answer`);
    if (answer > 0) answers++;
  }
  say(
    `heard in all: ${telephone.heardMs} ms of speech, ${telephone.marks} marks reached, ${telephone.clears} times cleared`,
  );
  const ok = greeting > 0 && answers === 2;
  say(ok ? 'The agent greeted and answered.' : 'The agent did not greet, or did not answer.');
  return ok ? 0 : 1;
}
