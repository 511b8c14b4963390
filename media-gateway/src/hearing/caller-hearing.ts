import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import type { SuppressionLevel } from '@parley/shared/audio/noise-suppressor';
import { EchoGuard } from './echo-guard.ts';
import type { NoiseStream, NoiseSuppression } from './noise/noise-suppression.ts';
import { decibels, loudness, SoundMeter } from './sound-meter.ts';
import { Doubt, EVIDENCE, evidenceOf, type Evidence } from './voice-evidence.ts';
import { VoiceLevels } from './voice-levels.ts';
import type { VoiceModel, VoiceModelStream } from './voice-model/voice-model.ts';

const FRAME_MS = 20;
/** What the model judges at a time. */
const WINDOW_MS = 32;
/** Sounds are judged for so long after the last loud frame. */
const JUDGE_AFTER_LOUD_MS = 400;
/** Frames whose levels are remembered until the windows that hold them are judged; a power of two. */
const FRAMES = 64;
/** The level of a window is that of the loudest frame in the last so many ms: syllables, not the gaps between them. */
const SYLLABLE_MS = 120;
/** A voice goes on over a pause within a word. */
const PAUSE_IN_VOICE_MS = 100;
/** Below this a window is surely no voice, whatever the threshold. */
const NO_VOICE = 0.35;
/** The model is too late to be asked: loudness alone decides until it has caught up. */
const TOO_LATE_MS = 500;
/** So much of a sound must be judged before it can be called nothing, and so much after a blip in it. */
const JUDGED_FOR_NOTHING_MS = 224;
/** Less voice than this is a blip: sounds that are none make the model hesitate, too. */
const BLIP_MS = 160;
/** Voice of this length in a stop, as loud as the caller, was the caller, whether or not words came. */
const SURELY_CALLER_MS = 500;
/** What follows within this is the same voice. */
const SAME_VOICE_MS = 2000;
/** A voice that goes on for so long without a word while nobody else speaks is no caller. */
const WORDLESS_MS = 3000;

/**
 * What the caller's line holds: whether somebody speaks, and whether it is the caller. Loudness gates a neural voice
 * model; the level of a voice is judged against what was learned of the caller and of the background; the echo of
 * the agent is told apart. Without the model, loudness and levels decide.
 */
export class CallerHearing {
  readonly #meter: SoundMeter;
  readonly #model: VoiceModelStream | undefined;
  readonly #noise: NoiseSuppression | undefined;
  readonly #format: AudioFormat;
  /** Of what the STT gets; everything here judges the audio as it came. */
  #clean: NoiseStream | undefined;
  #threshold: number;
  readonly #levels = new VoiceLevels();
  readonly #echo = new EchoGuard();
  readonly #doubt = new Doubt();
  readonly #run = new VoiceRun();
  readonly #stop = new Stretch();
  readonly #frames = new RecentFrames();
  /** Loud frames that cannot be the agent's own, and windows of a voice as near as the caller. */
  readonly #loud = new Heard();
  readonly #near = new Heard();
  #now = 0;
  /** Where the last loud frame ends. */
  #soundAudioMs = -Infinity;
  #wordlessMs = 0;
  /** Where a stop ended that was surely for the caller. */
  #surelyMs = -Infinity;

  /** How much audio has come, ms. */
  audioMs = 0;

  /** @param threshold 0.1 (hears everything) to 0.95 (only loud and clear voices) */
  constructor(deps: {
    format: AudioFormat;
    threshold: number;
    model: VoiceModel | undefined;
    noise?: NoiseSuppression | undefined;
  }) {
    this.#noise = deps.noise;
    this.#format = deps.format;
    this.#meter = new SoundMeter(deps.format, deps.threshold);
    this.#threshold = modelThreshold(deps.threshold);
    this.#model = deps.model?.open(deps.format);
  }

  /** Changes the threshold; what was learned of the line stays. */
  setThreshold(threshold: number): void {
    this.#meter.setThreshold(threshold);
    this.#threshold = modelThreshold(threshold);
  }

  /** Takes noise out of what the STT gets from now on, or no more. */
  suppressNoise(level: SuppressionLevel | 'off'): void {
    this.#clean?.close();
    this.#clean = level === 'off' ? undefined : this.#noise?.open(this.#format, level);
  }

  /** @returns the audio for the STT, good until the next call; with noise suppression a little later, possibly nothing */
  forStt(bytes: Uint8Array): Uint8Array {
    return this.#clean?.clean(bytes) ?? bytes;
  }

  /** The least evidence that stops the agent. */
  get demand(): Evidence {
    return this.#doubt.demand;
  }

  /** Whether the newest frame is loud, whoever makes the sound. */
  get loud(): boolean {
    return this.#meter.loud;
  }

  /** Whether the newest frame is silence: not even the begin of a soft word. */
  get silent(): boolean {
    return this.#meter.silent;
  }

  /** Whether sounds that are not the caller's are about. */
  get noisy(): boolean {
    return this.#doubt.noisy;
  }

  /** How much the caller has spoken since `resetSpeech`, ms. */
  get speechMs(): number {
    return this.noisy ? this.#near.ms : Math.max(this.#loud.ms, this.#near.ms);
  }

  /** Where in the audio the caller's last speech ends, ms; -Infinity before the first. */
  get lastSpeechAudioMs(): number {
    return this.noisy ? this.#near.audioMs : Math.max(this.#loud.audioMs, this.#near.audioMs);
  }

  /** When that arrived, on the clock of `push`. */
  get lastSpeechAt(): number {
    return this.noisy ? this.#near.at : Math.max(this.#loud.at, this.#near.at);
  }

  /** Whether what the agent was stopped for (`stopped`) is seen to be nothing. */
  get isNothing(): boolean {
    return this.#stop.isNothing;
  }

  /** @returns the evidence that this frame adds; `none` when it adds none */
  push(bytes: Uint8Array, durationMs: number, now: number): Evidence {
    this.#now = now;
    this.audioMs += durationMs;
    const begins = this.#meter.push(bytes, durationMs);
    const { loud } = this.#meter;
    const level = decibels(this.#meter.level);
    this.#echo.caller(level, now);
    this.#frames.push(level, loud, this.audioMs);
    // A sound that may be the agent's own is left to the model.
    const own = loud && this.#echo.canBe(this.#frames.levelAt(this.audioMs), now);
    if (loud) {
      this.#soundAudioMs = this.audioMs;
      this.#doubt.loud();
    } else if (this.#doubt.pause(durationMs)) this.#levels.forgetBackground();
    if (loud && !own) this.#loud.note(durationMs, this.audioMs, now);
    const model = this.#model;
    if (model) {
      model.judging = this.audioMs - this.#soundAudioMs <= JUDGE_AFTER_LOUD_MS;
      model.push(bytes);
    }
    if (!model || model.behindMs > TOO_LATE_MS)
      return this.#judge(loud ? 1 : 0, durationMs, this.audioMs, begins && !own);
    return begins && !own ? EVIDENCE.sound : EVIDENCE.none;
  }

  /** Takes what the model has judged meanwhile. Called on every tick. @returns the evidence that it adds */
  tick(): Evidence {
    this.#evidence = EVIDENCE.none;
    this.#model?.read(this.#onVerdict);
    return this.#evidence;
  }

  /** Notes agent audio that goes out. @param atMs when the far end begins to play it, monotonic ms */
  agentSaid(bytes: Uint8Array, format: AudioFormat, atMs: number): void {
    const frameBytes = FRAME_MS * bytesPerMs(format);
    for (let at = 0, ms = atMs; at + frameBytes <= bytes.length; at += frameBytes, ms += FRAME_MS)
      this.#echo.agent(decibels(loudness(bytes.subarray(at, at + frameBytes), format)), ms);
  }

  /** The far end dropped agent audio that it had not played. */
  agentCleared(now: number): void {
    this.#echo.cleared(now);
  }

  /** The agent is stopped for what is heard now: from here on it is watched whether it is the caller. */
  stopped(): void {
    this.#stop.begin(this.#run.nearMs);
  }

  /** The STT says that somebody began to speak. @returns the evidence that this is */
  sttSpeech(): Evidence {
    return this.#echo.canBe(this.#frames.levelAt(this.audioMs), this.#now) ? EVIDENCE.none : EVIDENCE.sound;
  }

  /** What the agent was stopped for was nothing: more will be asked of the next. */
  wasNothing(): void {
    const { likeCaller } = this.#levels;
    const goesOn = this.audioMs - this.#surelyMs < SAME_VOICE_MS;
    if (likeCaller && (this.#stop.voiceMs >= SURELY_CALLER_MS || goesOn)) {
      this.#surelyMs = this.audioMs;
      this.#levels.forget();
      return;
    }
    this.#doubt.mistake();
    this.#levels.learnBackground();
  }

  /** Words came of what is heard. */
  hasWords(): void {
    this.#wordlessMs = 0;
  }

  /** What was heard was the caller: it had words. */
  wasCaller(): void {
    this.#wordlessMs = 0;
    this.#levels.learnCaller();
    if (this.#levels.apart) this.#doubt.forgive();
  }

  /** A turn is over, or a voice without words is forgotten: the next one counts from zero. */
  resetSpeech(): void {
    this.#loud.ms = 0;
    this.#near.ms = 0;
  }

  [Symbol.dispose](): void {
    this.#model?.close();
    this.#clean?.close();
  }

  // ---- inside ----

  #evidence: Evidence = EVIDENCE.none;
  #judgedTo = 0;

  readonly #onVerdict = (probability: number, endMs: number): void => {
    const durationMs = Math.min(WINDOW_MS, endMs - this.#judgedTo);
    this.#judgedTo = endMs;
    const evidence = this.#judge(probability, durationMs, endMs, false);
    if (evidence > this.#evidence) this.#evidence = evidence;
  };

  /** @returns the evidence that this window adds */
  #judge(probability: number, durationMs: number, endMs: number, begins: boolean): Evidence {
    const level = this.#frames.levelAt(endMs);
    const voice = probability >= this.#threshold;
    const near = voice && level >= this.#levels.near && !this.#isEcho(level);
    this.#stop.judged(durationMs, near);
    if (voice) {
      this.#levels.note(level);
      this.#wordless(durationMs);
    }
    if (near) {
      this.#near.note(durationMs, endMs, this.#now - (this.audioMs - endMs));
    } else if ((voice || probability < NO_VOICE) && this.#frames.isLoudAt(endMs))
      this.#doubt.noise(durationMs);
    const evidence = this.#run.push(near, durationMs, endMs);
    return begins && evidence === EVIDENCE.none ? EVIDENCE.sound : evidence;
  }

  #isEcho(level: number): boolean {
    return this.#echo.canBe(level, this.#now) && this.#echo.isEcho(this.#now);
  }

  #wordless(durationMs: number): void {
    this.#wordlessMs += durationMs;
    if (this.#wordlessMs < WORDLESS_MS) return;
    this.#wordlessMs = 0;
    if (this.#levels.caller === undefined) return;
    this.#levels.learnBackground();
  }
}

/** Levels of the newest frames, until the windows that hold them are judged. */
class RecentFrames {
  readonly #levels = new Float64Array(FRAMES);
  readonly #ends = new Float64Array(FRAMES).fill(-Infinity);
  readonly #loud = new Uint8Array(FRAMES);
  #count = 0;

  push(level: number, loud: boolean, endMs: number): void {
    const slot = this.#count++ % FRAMES;
    this.#levels[slot] = level;
    this.#ends[slot] = endMs;
    this.#loud[slot] = loud ? 1 : 0;
  }

  /** The level of the loudest syllable just before `endMs`. */
  levelAt(endMs: number): number {
    let loudest = -91;
    for (let i = this.#count - 1; i >= this.#count - FRAMES; i--) {
      const end = this.#ends[i & (FRAMES - 1)]!;
      if (end <= endMs - SYLLABLE_MS) break;
      if (end <= endMs + FRAME_MS) loudest = Math.max(loudest, this.#levels[i & (FRAMES - 1)]!);
    }
    return loudest;
  }

  /** Whether a frame of the window that ends at `endMs` is loud. */
  isLoudAt(endMs: number): boolean {
    for (let i = this.#count - 1; i >= this.#count - FRAMES; i--) {
      const end = this.#ends[i & (FRAMES - 1)]!;
      if (end <= endMs - WINDOW_MS) return false;
      if (end <= endMs + FRAME_MS && this.#loud[i & (FRAMES - 1)] === 1) return true;
    }
    return false;
  }
}

/** How much was heard of something, and where and when it was last. */
class Heard {
  ms = 0;
  audioMs = -Infinity;
  at = -Infinity;

  note(durationMs: number, audioMs: number, at: number): void {
    this.ms += durationMs;
    this.audioMs = audioMs;
    this.at = at;
  }
}

/** A voice as near as the caller that is going on. */
class VoiceRun {
  nearMs = 0;
  #lastMs = -Infinity;
  #told: Evidence = EVIDENCE.none;

  /** @param endMs where the window ends @returns the evidence that was not told yet */
  push(near: boolean, durationMs: number, endMs: number): Evidence {
    if (endMs - durationMs - this.#lastMs > PAUSE_IN_VOICE_MS) {
      this.nearMs = 0;
      this.#told = EVIDENCE.none;
    }
    if (!near) return EVIDENCE.none;
    this.#lastMs = endMs;
    this.nearMs += durationMs;
    const evidence = evidenceOf(this.nearMs);
    if (evidence <= this.#told) return EVIDENCE.none;
    this.#told = evidence;
    return evidence;
  }
}

/** What was judged since the agent was stopped. */
class Stretch {
  #judgedMs = 0;
  #sinceVoiceMs = 0;
  voiceMs = 0;

  /** @param nearMs voice that led to the stop */
  begin(nearMs: number): void {
    this.#judgedMs = 0;
    this.#sinceVoiceMs = 0;
    this.voiceMs = nearMs;
  }

  judged(durationMs: number, near: boolean): void {
    this.#judgedMs += durationMs;
    this.#sinceVoiceMs = near ? 0 : this.#sinceVoiceMs + durationMs;
    if (near) this.voiceMs += durationMs;
  }

  get isNothing(): boolean {
    if (this.#judgedMs < JUDGED_FOR_NOTHING_MS) return false;
    if (evidenceOf(this.voiceMs) === EVIDENCE.none) return true;
    return this.voiceMs < BLIP_MS && this.#sinceVoiceMs >= JUDGED_FOR_NOTHING_MS;
  }
}

/** The probability from which the model's verdict is a voice. */
function modelThreshold(threshold: number): number {
  return Math.min(0.9, Math.max(0.2, threshold));
}
