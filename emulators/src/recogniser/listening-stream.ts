import { ALAW_TO_PCM16, MULAW_TO_PCM16 } from '@parley/shared/audio/g711';
import { Resampler } from '@parley/shared/audio/resampler';
import type { AcousticModel } from './acoustic-model.ts';
import { Decoder } from './decoder.ts';
import type { HeardWord } from './ears.ts';
import { FEATURE_RATE, FeatureStream, FRAME_MS } from './features.ts';
import type { SpeechFrame } from './features.ts';
import type { RawFormat } from './level-meter.ts';
import type { SentenceGraph } from './sentence-graph.ts';
import { VoiceActivity } from './voice-activity.ts';

/** Long pieces of audio are heard in slices, as if they came one after the other. */
const SLICE_MS = 20;
/** Speech begins softly: this much of the audio before its onset is heard too. */
const BEFORE_ONSET_MS = 300;
/** What follows the last voice is heard for this long. Then the words stand. */
const AFTER_SPEECH_MS = 400;
/** A sentence that was reported in part goes on after a pause shorter than this. */
const UTTERANCE_GAP_MS = 1500;
/** Nothing begins anew after less than this: it is a pause within a word. */
const TURN_GAP_MS = 200;
/** What has not been reported is kept over any pause but this. */
const LONGEST_GAP_MS = 5000;

/** What a slice of audio held. `ticks` has the three times of `Ears` for each 10 ms of it. */
export interface HeardSlice {
  ticks: Float64Array;
  utterance: number;
  words: HeardWord[];
}

/** One audio stream: when somebody speaks, and which of the taught sentences it is. */
export class ListeningStream {
  readonly #model: AcousticModel;
  readonly #activity: VoiceActivity;
  readonly #features: FeatureStream;
  readonly #toSamples: (bytes: Uint8Array) => Int16Array;
  readonly #sliceBytes: number;
  readonly #ticks: number[] = [];
  /** The latest frames that the decoder has not seen, at most `BEFORE_ONSET_MS`. */
  readonly #before: SpeechFrame[] = [];
  #graph: SentenceGraph | undefined;
  #decoder: Decoder | undefined;
  #frames = 0;
  #decodedFrames = 0;
  #listening = false;
  #lastHeardMs = -Infinity;
  #ended = false;
  #utterance = 0;
  #words: HeardWord[] = [];

  constructor(model: AcousticModel, format: RawFormat) {
    this.#model = model;
    const options = { threshold: 200, needed: 3, adaptive: true, marked: true };
    this.#activity = new VoiceActivity(format, options, () => this.#tick());
    this.#features = new FeatureStream(model.usualMean, (frame) => this.#hear(frame));
    this.#toSamples = sampleReader(format);
    const width = format.encoding === 'linear16' ? 2 : 1;
    this.#sliceBytes = Math.max(width, Math.round((format.sampleRate * SLICE_MS) / 1000) * width);
  }

  /** @param graph what is known by now; an utterance is searched for in what was known at its start */
  push(bytes: Uint8Array, graph: SentenceGraph, onHeard: (slice: HeardSlice) => void): void {
    for (let at = 0; at < bytes.length; at += this.#sliceBytes) {
      const slice = bytes.subarray(at, at + this.#sliceBytes);
      this.#ticks.length = 0;
      this.#activity.push(slice);
      this.#follow(graph);
      this.#features.push(this.#toSamples(slice));
      if (this.#listening && this.#decoder) this.#words = this.#decoder.words();
      if (this.#ticks.length === 0) continue;
      onHeard({ ticks: Float64Array.from(this.#ticks), utterance: this.#utterance, words: this.#words });
    }
  }

  /** What was heard so far has been reported as the end of something. */
  endUtterance(): void {
    this.#ended = true;
  }

  #tick(): void {
    this.#ticks.push(this.#activity.atMs, this.#activity.onsetMs, this.#activity.lastVoicedMs);
  }

  /** Starts and stops listening as the voice does. */
  #follow(graph: SentenceGraph): void {
    const { atMs, lastVoicedMs, onsetMs } = this.#activity;
    if (this.#listening) {
      this.#lastHeardMs = lastVoicedMs;
      if (atMs - lastVoicedMs > AFTER_SPEECH_MS) this.#listening = false;
      return;
    }
    if (atMs - lastVoicedMs > SLICE_MS) return;
    this.#listening = true;
    if (!this.#decoder || !this.#continues(onsetMs - this.#lastHeardMs)) this.#startUtterance(graph);
    this.#lastHeardMs = lastVoicedMs;
    this.#ended = false;
    const skipped = this.#frames - this.#before.length - this.#decodedFrames;
    this.#decoder?.skip(skipped);
    this.#decodedFrames += skipped;
    for (const frame of this.#before.splice(0)) this.#decode(frame);
  }

  #continues(gapMs: number): boolean {
    if (!this.#ended) return gapMs < LONGEST_GAP_MS;
    return gapMs < TURN_GAP_MS || (gapMs < UTTERANCE_GAP_MS && this.#decoder!.isUnfinished);
  }

  #startUtterance(graph: SentenceGraph): void {
    if (graph !== this.#graph) {
      this.#graph = graph;
      this.#decoder = new Decoder(this.#model, graph);
    }
    this.#utterance += 1;
    this.#words = [];
    this.#decodedFrames = this.#frames - this.#before.length;
    this.#decoder?.reset(this.#decodedFrames * FRAME_MS);
  }

  #hear(frame: SpeechFrame): void {
    this.#frames += 1;
    if (this.#listening) {
      this.#decode(frame);
      return;
    }
    this.#before.push({ ...frame, features: frame.features.slice() });
    if (this.#before.length > BEFORE_ONSET_MS / FRAME_MS) this.#before.shift();
  }

  #decode(frame: SpeechFrame): void {
    this.#decodedFrames += 1;
    this.#decoder?.push(frame);
  }
}

/** Reads bytes of a format as samples at 8 kHz. */
function sampleReader({ encoding, sampleRate }: RawFormat): (bytes: Uint8Array) => Int16Array {
  const resampler = sampleRate === FEATURE_RATE ? undefined : new Resampler(sampleRate, FEATURE_RATE);
  const at8k = (samples: Int16Array) => (resampler ? resampler.process(samples) : samples);
  if (encoding !== 'linear16') {
    const table = encoding === 'mulaw' ? MULAW_TO_PCM16 : ALAW_TO_PCM16;
    return (bytes) => at8k(Int16Array.from(bytes, (byte) => table[byte]!));
  }
  let odd = Buffer.alloc(0);
  return (bytes) => {
    const all =
      odd.length > 0
        ? Buffer.concat([odd, bytes])
        : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const samples = new Int16Array(all.length >> 1);
    for (let at = 0; at < samples.length; at++) samples[at] = all.readInt16LE(at * 2);
    odd = Buffer.from(all.subarray(samples.length * 2));
    return at8k(samples);
  };
}
