import { scoreStates, stateCount, stateOf, STATES_PER_PHONE } from './acoustic-model.ts';
import type { AcousticModel } from './acoustic-model.ts';
import type { HeardWord } from './ears.ts';
import { FRAME_MS } from './features.ts';
import type { SpeechFrame } from './features.ts';
import { CAN_SKIP, PAUSE, SENTENCE_END, SENTENCE_START, WORD_END, WORD_START } from './sentence-graph.ts';
import type { SentenceGraph } from './sentence-graph.ts';

/** Natural logarithms, as all scores. */
export interface DecoderWeights {
  /** What a phone of speech that is none of the sentences costs: the higher, the more is taken for a sentence. */
  otherPhone: number;
  /** What beginning a sentence costs. */
  sentence: number;
  /** What leaving a sentence before its end costs. */
  cut: number;
  /** What going on to another sentence without a pause costs. */
  join: number;
}

export const DEFAULT_WEIGHTS: DecoderWeights = { otherPhone: 24, sentence: 20, cut: 40, join: 20 };

const STAY = -0.4;
const STEP = -1.1;
const SKIP = -3;
/** Paths this far behind the best one are given up. */
const BEAM = 400;
/** A word that is still being spoken counts from here on. */
const WORD_HEARD = 0.6;
/** How much better an unfinished sentence must be than a finished one. */
const UNFINISHED = 30;
/** Frames of silence that part sentences from other speech; a stop within a word is shorter. */
const SILENCE_FRAMES = 10;
const LEAST_RECORDS = 1 << 15;
/** How many records there is room for, per state: most are forgotten again soon. */
const RECORDS_PER_STATE = 6;
const SPARE_RECORDS = 64;
const NO_SENTENCE = -1;

/**
 * Finds what was said among the taught sentences: a Viterbi search, frame by frame, through all chains of sentences,
 * pauses and other speech. Other speech is any sequence of phones; a sentence is recognised where its own phones
 * explain the sound nearly as well as free ones do.
 */
export class Decoder {
  readonly #model: AcousticModel;
  readonly #graph: SentenceGraph;
  readonly #weights: DecoderWeights;
  readonly #emission: Float32Array;
  readonly #scores: Float64Array;
  readonly #records: Int32Array;
  /** Per sentence: whether any of its states is within the beam. */
  readonly #active: Uint8Array;
  /** Of the short silences within other speech first, then of each of its phones. */
  readonly #other: Float64Array;
  readonly #otherRecords: Int32Array;
  /** A chain that takes its time: only its last state may last. */
  readonly #silence = new Float64Array(SILENCE_FRAMES);
  readonly #silenceRecords = new Int32Array(SILENCE_FRAMES);
  /** What each record points back to, its sentence, word, and first frame. */
  readonly #previous: Int32Array;
  readonly #sentence: Int32Array;
  readonly #word: Int32Array;
  readonly #frame: Int32Array;
  #recordCount = 0;
  #frames = 0;
  #startMs = 0;
  #best = 0;
  #unfinished = false;
  /** The best way into silence at this frame. */
  #ending = newToken();
  /** The best complete sentence that ends with this frame. */
  #complete = newToken();

  constructor(model: AcousticModel, graph: SentenceGraph, weights: DecoderWeights = DEFAULT_WEIGHTS) {
    this.#model = model;
    this.#graph = graph;
    this.#weights = weights;
    this.#emission = new Float32Array(stateCount(model));
    this.#scores = new Float64Array(graph.emissions.length);
    this.#records = new Int32Array(graph.emissions.length);
    this.#active = new Uint8Array(graph.sentences.length);
    this.#other = new Float64Array(stateCount(model));
    this.#otherRecords = new Int32Array(stateCount(model));
    const room = Math.max(LEAST_RECORDS, graph.emissions.length * RECORDS_PER_STATE);
    this.#previous = new Int32Array(room);
    this.#sentence = new Int32Array(room);
    this.#word = new Int32Array(room);
    this.#frame = new Int32Array(room);
    this.reset(0);
  }

  /** Forgets everything: the next frame begins an utterance at `startMs`. */
  reset(startMs: number): void {
    this.#scores.fill(-Infinity);
    this.#active.fill(0);
    this.#other.fill(-Infinity);
    this.#recordCount = 0;
    this.#frames = 0;
    this.#startMs = startMs;
    this.#best = 0;
    // As after a long silence.
    this.#silence.fill(-Infinity);
    this.#silence[SILENCE_FRAMES - 1] = 0;
    this.#silenceRecords.fill(-1);
    this.#ending = newToken();
    this.#complete = newToken();
  }

  /** Whether the best path of the last `words()` is in the middle of a sentence. */
  get isUnfinished(): boolean {
    return this.#unfinished;
  }

  /** Passes over frames that hold nothing but silence, so that the times of words stay right. */
  skip(frames: number): void {
    this.#frames += frames;
  }

  push({ features, quiet, range }: SpeechFrame): void {
    if (this.#recordCount + this.#records.length + SPARE_RECORDS > this.#previous.length) {
      this.#forgetDeadPaths();
    }
    scoreStates(this.#model, features, this.#emission);
    if (quiet) this.#emission[stateOf(0)] = Math.max(...this.#emission);
    const floor = this.#best - BEAM;
    const frame = this.#frames++;
    const ending = this.#ending;
    const complete = this.#complete;
    this.#ending = newToken();
    this.#complete = newToken();
    this.#best = -Infinity;
    const after = SILENCE_FRAMES - 1;
    const silent = { score: this.#silence[after]! + STEP, record: this.#silenceRecords[after]! };
    const joined = { score: complete.score - this.#weights.join, record: complete.record };
    this.#stepSentences(joined.score > silent.score ? joined : silent, floor, frame);
    this.#stepOther(silent, frame, this.#weights.otherPhone * clearness(range));
    this.#stepSilence(ending, frame);
  }

  #stepSentences(start: Token, floor: number, frame: number): void {
    const { starts, emissions, flags, words } = this.#graph;
    const scores = this.#scores;
    const records = this.#records;
    const entry = start.score - this.#weights.sentence;
    for (let sentence = 0; sentence < this.#active.length; sentence++) {
      const first = starts[sentence]!;
      if (!this.#active[sentence] && entry < floor) continue;
      let sentenceBest = -Infinity;
      // From the end, so that the states before still hold the frame before.
      for (let state = starts[sentence + 1]! - 1; state >= first; state--) {
        const flag = flags[state]!;
        let score = scores[state]! + STAY;
        let from = state;
        if (flag & SENTENCE_START) {
          if (entry > score) {
            score = entry;
            from = -1;
          }
        } else {
          const step = scores[state - 1]! + STEP;
          if (step > score) {
            score = step;
            from = state - 1;
          }
          if (flag & CAN_SKIP) {
            const skip = scores[state - 2]! + SKIP;
            if (skip > score) {
              score = skip;
              from = state - 2;
            }
          }
        }
        if (score < floor) {
          scores[state] = -Infinity;
          continue;
        }
        score += this.#emission[emissions[state]!]!;
        scores[state] = score;
        if (from !== state) {
          let record = from < 0 ? start.record : records[from]!;
          if (flag & WORD_START) record = this.#record(record, sentence, words[state]!, frame);
          else if (flag & PAUSE) record = this.#record(record, NO_SENTENCE, 0, frame);
          records[state] = record;
        }
        if (score > sentenceBest) sentenceBest = score;
        if (flag & SENTENCE_END) {
          offer(this.#complete, score + STEP, records[state]!);
          offer(this.#ending, score + STEP, records[state]!);
        } else if (flag & WORD_END) {
          offer(this.#ending, score - this.#weights.cut, records[state]!);
        }
      }
      this.#active[sentence] = sentenceBest > -Infinity ? 1 : 0;
      if (sentenceBest > this.#best) this.#best = sentenceBest;
    }
  }

  /** Speech that is none of the sentences: any phones, and short silences, between two long ones. */
  #stepOther(silent: Token, frame: number, otherPhone: number): void {
    const other = this.#other;
    const records = this.#otherRecords;
    const phones = this.#model.phones.length;
    const loop = newToken();
    for (let phone = 0; phone < phones; phone++) {
      const last = lastStateOf(phone);
      offer(loop, other[last]! + STEP, records[last]!);
    }
    if (silent.score > loop.score) {
      loop.score = silent.score;
      loop.record = this.#record(silent.record, NO_SENTENCE, 0, frame);
    }
    const entry = loop.score - otherPhone;
    for (let phone = 0; phone < phones; phone++) {
      const first = stateOf(phone);
      const last = lastStateOf(phone);
      for (let state = last; state >= first; state--) {
        let score = other[state]! + STAY;
        let record = records[state]!;
        if (state === first) {
          if (entry > score) {
            score = entry;
            record = loop.record;
          }
        } else {
          if (other[state - 1]! + STEP > score) {
            score = other[state - 1]! + STEP;
            record = records[state - 1]!;
          }
          if (state === first + 2 && other[first]! + SKIP > score) {
            score = other[first]! + SKIP;
            record = records[first]!;
          }
        }
        score += this.#emission[state]!;
        other[state] = score;
        records[state] = record;
        if (score > this.#best) this.#best = score;
        if (state === last && phone !== 0) offer(this.#ending, score + STEP, record);
      }
    }
  }

  #stepSilence(ending: Token, frame: number): void {
    const silence = this.#silence;
    const records = this.#silenceRecords;
    const emission = this.#emission[stateOf(0)]!;
    for (let state = SILENCE_FRAMES - 1; state >= 0; state--) {
      let score = state === SILENCE_FRAMES - 1 ? silence[state]! + STAY : -Infinity;
      let record = records[state]!;
      if (state > 0 && silence[state - 1]! + STAY > score) {
        score = silence[state - 1]! + STAY;
        record = records[state - 1]!;
      } else if (state === 0 && ending.score > -Infinity) {
        score = ending.score;
        record = this.#record(ending.record, NO_SENTENCE, 0, frame);
      }
      silence[state] = score + emission;
      records[state] = record;
      if (silence[state]! > this.#best) this.#best = silence[state]!;
    }
  }

  #record(previous: number, sentence: number, word: number, frame: number): number {
    const record = this.#recordCount++;
    this.#previous[record] = previous;
    this.#sentence[record] = sentence;
    this.#word[record] = word;
    this.#frame[record] = frame;
    return record;
  }

  /** Keeps the records that a path still points back to. */
  #forgetDeadPaths(): void {
    const kept = new Int32Array(this.#recordCount).fill(-1);
    const mark = (record: number) => {
      for (let at = record; at >= 0 && kept[at] === -1; at = this.#previous[at]!) kept[at] = at;
    };
    const lists = [this.#records, this.#otherRecords, this.#silenceRecords];
    const scores = [this.#scores, this.#other, this.#silence];
    for (const [list, records] of lists.entries()) {
      for (let at = 0; at < records.length; at++) {
        if (scores[list]![at]! === -Infinity) records[at] = -1;
        else mark(records[at]!);
      }
    }
    mark(this.#ending.record);
    mark(this.#complete.record);
    let count = 0;
    // A record is younger than the one it points back to, so that one has moved already.
    for (let at = 0; at < kept.length; at++) {
      if (kept[at] === -1) continue;
      const previous = this.#previous[at]!;
      this.#previous[count] = previous < 0 ? -1 : kept[previous]!;
      this.#sentence[count] = this.#sentence[at]!;
      this.#word[count] = this.#word[at]!;
      this.#frame[count] = this.#frame[at]!;
      kept[at] = count++;
    }
    this.#recordCount = count;
    const moved = (record: number) => (record < 0 ? -1 : kept[record]!);
    for (const records of lists)
      for (let at = 0; at < records.length; at++) records[at] = moved(records[at]!);
    this.#ending.record = moved(this.#ending.record);
    this.#complete.record = moved(this.#complete.record);
  }

  /** The words on the best path so far. */
  words(): HeardWord[] {
    const { flags, progress, sentences } = this.#graph;
    let best = -Infinity;
    let record = -1;
    let heardPart = 1;
    this.#unfinished = false;
    for (let sentence = 0; sentence < this.#active.length; sentence++) {
      if (!this.#active[sentence]) continue;
      for (let state = this.#graph.starts[sentence]!; state < this.#graph.starts[sentence + 1]!; state++) {
        // Between the end of one sentence and a pause in another that begins alike, it was the end.
        const score = this.#scores[state]! - UNFINISHED;
        if (score <= best) continue;
        best = score;
        record = this.#records[state]!;
        heardPart = flags[state]! & PAUSE ? 1 : progress[state]!;
        this.#unfinished = (flags[state]! & SENTENCE_END) === 0;
      }
    }
    for (let state = 0; state < this.#other.length; state++) {
      if (this.#other[state]! <= best) continue;
      best = this.#other[state]!;
      record = this.#otherRecords[state]!;
      heardPart = 1;
      this.#unfinished = false;
    }
    for (let state = 0; state < SILENCE_FRAMES; state++) {
      if (this.#silence[state]! <= best) continue;
      best = this.#silence[state]!;
      record = this.#silenceRecords[state]!;
      heardPart = 1;
      this.#unfinished = false;
    }
    const heard: HeardWord[] = [];
    let endFrame = this.#frames;
    for (let at = record; at >= 0; at = this.#previous[at]!) {
      const sentence = this.#sentence[at]!;
      const startFrame = this.#frame[at]!;
      if (sentence !== NO_SENTENCE && (at !== record || heardPart >= WORD_HEARD)) {
        heard.push({
          text: sentences[sentence]!.words[this.#word[at]!]!,
          startMs: this.#startMs + startFrame * FRAME_MS,
          endMs: this.#startMs + endFrame * FRAME_MS,
          confidence: 0.97,
        });
      }
      endFrame = startFrame;
    }
    return heard.reverse();
  }
}

/** In noise all phones sound more alike, so speech that is none of the sentences must cost less. */
function clearness(range: number): number {
  return Math.max(0.7, Math.min(1, 0.7 + (0.3 * (range - 5.5)) / 5));
}

/** A path by its score and the last of its records. */
interface Token {
  score: number;
  record: number;
}

function newToken(): Token {
  return { score: -Infinity, record: -1 };
}

function offer(token: Token, score: number, record: number): void {
  if (score <= token.score) return;
  token.score = score;
  token.record = record;
}

function lastStateOf(phone: number): number {
  return phone === 0 ? stateOf(0) : stateOf(phone) + STATES_PER_PHONE - 1;
}
