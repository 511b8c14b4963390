import { SILENCE, STATES_PER_PHONE, stateOf } from './acoustic-model.ts';
import type { AcousticModel } from './acoustic-model.ts';

/** A taught sentence and how each of its words is pronounced. */
export interface PronouncedSentence {
  /** As taught, with case and punctuation. */
  words: readonly string[];
  phones: readonly (readonly string[])[];
}

/** A state may also be reached from the one two before it: a phone's last state, or a word's first past the pause. */
export const CAN_SKIP = 1;
export const SENTENCE_START = 2;
export const WORD_START = 4;
export const PAUSE = 8;
/** The last state of a word that is not the last of its sentence. */
export const WORD_END = 16;
export const SENTENCE_END = 32;

/**
 * All sentences as chains of states, one after the other: the states of each phone, and between words a pause that
 * may be skipped.
 */
export interface SentenceGraph {
  sentences: readonly PronouncedSentence[];
  /** Of each sentence, and the end of the last one. */
  starts: Int32Array;
  /** Per state: the state of the acoustic model. */
  emissions: Uint16Array;
  flags: Uint8Array;
  /** Per state: the index of its word in the sentence. */
  words: Uint16Array;
  /** Per state: how far into its word it is, 0 to 1. */
  progress: Float32Array;
}

export function buildGraph(model: AcousticModel, sentences: readonly PronouncedSentence[]): SentenceGraph {
  const emissions: number[] = [];
  const flags: number[] = [];
  const words: number[] = [];
  const progress: number[] = [];
  const starts: number[] = [];
  const silence = stateOf(model.phones.indexOf(SILENCE));
  for (const sentence of sentences) {
    starts.push(emissions.length);
    for (const [word, phones] of sentence.phones.entries()) {
      if (word > 0) {
        emissions.push(silence);
        flags.push(PAUSE);
        words.push(word - 1);
        progress.push(1);
      }
      const states = phones.length * STATES_PER_PHONE;
      for (const [index, phone] of phones.entries()) {
        const base = stateOf(model.phones.indexOf(phone));
        for (let third = 0; third < STATES_PER_PHONE; third++) {
          const at = index * STATES_PER_PHONE + third;
          let flag = 0;
          if (at === 0) flag |= WORD_START | (word === 0 ? SENTENCE_START : CAN_SKIP);
          if (third === STATES_PER_PHONE - 1) flag |= CAN_SKIP;
          if (at === states - 1) flag |= word === sentence.words.length - 1 ? SENTENCE_END : WORD_END;
          emissions.push(base + third);
          flags.push(flag);
          words.push(word);
          progress.push((at + 1) / states);
        }
      }
    }
  }
  starts.push(emissions.length);
  return {
    sentences,
    starts: Int32Array.from(starts),
    emissions: Uint16Array.from(emissions),
    flags: Uint8Array.from(flags),
    words: Uint16Array.from(words),
    progress: Float32Array.from(progress),
  };
}
