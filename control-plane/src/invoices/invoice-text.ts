import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import bidiFactory from 'bidi-js';
import type { Bidi } from 'bidi-js';
import type PDFDocument from 'pdfkit';

type Document = InstanceType<typeof PDFDocument>;

const require = createRequire(import.meta.url);
// What the package exports is the factory itself; its types are those of another form of it.
const bidi = (bidiFactory as unknown as () => Bidi)();

/** In the order in which they are asked whether they have a character; none is read before. */
const FONTS = {
  // Latin, Greek, Cyrillic
  general: require.resolve('@expo-google-fonts/noto-sans/400Regular/NotoSans_400Regular.ttf'),
  arabic: require.resolve('@expo-google-fonts/noto-sans-arabic/400Regular/NotoSansArabic_400Regular.ttf'),
  devanagari:
    require.resolve('@expo-google-fonts/noto-sans-devanagari/400Regular/NotoSansDevanagari_400Regular.ttf'),
  // Chinese, Japanese
  han: require.resolve('@expo-google-fonts/noto-sans-sc/400Regular/NotoSansSC_400Regular.ttf'),
};
type FontName = keyof typeof FONTS;
const NAMES = Object.keys(FONTS) as FontName[];
const BOLD = require.resolve('@expo-google-fonts/noto-sans/700Bold/NotoSans_700Bold.ttf');

const files = new Map<string, Buffer>();

/** What of a text has one font and one direction. */
interface Run {
  text: string;
  font: FontName;
  rightToLeft: boolean;
}

export interface TextOptions {
  size: number;
  bold?: boolean;
  /** `end`: it ends at `x`. */
  align?: 'start' | 'end';
  color?: string;
}

/**
 * Draws texts of any script into a document: each part with a font that has it, right-to-left parts in their order and
 * shaped. What no font has is written as its code point.
 */
export class TextPainter {
  readonly #document: Document;
  readonly #opened = new Set<FontName>();

  constructor(document: Document) {
    this.#document = document;
    document.registerFont('bold', bytesOf(BOLD) as never);
  }

  /** One line; `y` is its baseline. @returns its width */
  draw(text: string, x: number, y: number, options: TextOptions): number {
    const runs = this.#runs(text);
    const widths = runs.map((run) => this.#width(run, options));
    const total = widths.reduce((sum, width) => sum + width, 0);
    let at = options.align === 'end' ? x - total : x;
    for (const [index, run] of runs.entries()) {
      this.#use(run, options);
      this.#document.fillColor(options.color ?? 'black').text(run.text, at, y, {
        ...{ lineBreak: false, baseline: 'alphabetic', features: featuresOf(run) },
      });
      at += widths[index]!;
    }
    return total;
  }

  width(text: string, options: TextOptions): number {
    return this.#runs(text).reduce((sum, run) => sum + this.#width(run, options), 0);
  }

  /** Lines of a text that are no wider than `width`, broken between words where there are any. */
  wrap(text: string, width: number, options: TextOptions): string[] {
    const lines: string[] = [];
    let line = '';
    for (const part of breakable(text)) {
      if (line !== '' && this.width((line + part).trimEnd(), options) > width) {
        lines.push(line.trimEnd());
        line = '';
      }
      line += part;
      while (this.width(line.trimEnd(), options) > width) {
        const fits = this.#longestStart(line, width, options);
        lines.push(fits);
        line = line.slice(fits.length);
      }
    }
    return [...lines, line.trimEnd()].filter((one, index) => one !== '' || index === 0);
  }

  /** At least one character. */
  #longestStart(text: string, width: number, options: TextOptions): string {
    let fits = '';
    for (const { segment } of graphemes.segment(text)) {
      if (fits !== '' && this.width(fits + segment, options) > width) break;
      fits += segment;
    }
    return fits;
  }

  #width(run: Run, options: TextOptions): number {
    this.#use(run, options);
    return this.#document.widthOfString(run.text, { features: featuresOf(run) });
  }

  #use({ font }: Run, { size, bold = false }: TextOptions): void {
    this.#document.font(bold && font === 'general' ? 'bold' : font).fontSize(size);
  }

  /** Whether a font has a character. */
  #has(font: FontName, codePoint: number): boolean {
    if (!this.#opened.has(font)) {
      this.#document.registerFont(font, bytesOf(FONTS[font]) as never);
      this.#opened.add(font);
    }
    this.#document.font(font);
    // What pdfkit does not say of its fonts: the one of fontkit behind it.
    const { _font: current } = this.#document as unknown as {
      _font: { font: { hasGlyphForCodePoint(codePoint: number): boolean } };
    };
    return current.font.hasGlyphForCodePoint(codePoint);
  }

  /** In the order in which they are drawn, from left to right. @see Unicode Standard Annex #9, rule L2 */
  #runs(text: string): Run[] {
    const characters: { character: string; font: FontName }[] = [];
    for (const character of text.replace(/\s/gu, ' ')) {
      const font = this.#fontOf(character, characters.at(-1)?.font);
      if (font) characters.push({ character, font });
      else
        for (const one of `[U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`)
          characters.push({ character: one, font: 'general' });
    }
    const shown = characters.map(({ character }) => character).join('');
    const { levels } = bidi.getEmbeddingLevels(shown);
    const runs: (Run & { level: number })[] = [];
    let index = 0;
    for (const { character, font } of characters) {
      const level = levels[index]!;
      const rightToLeft = level % 2 === 1;
      const drawn = (rightToLeft && bidi.getMirroredCharacter(character)) || character;
      const last = runs.at(-1);
      if (last && last.level === level && last.font === font) last.text += drawn;
      else runs.push({ text: drawn, font, rightToLeft, level });
      index += character.length;
    }
    const lowest = Math.min(...runs.map(({ level }) => (level % 2 === 1 ? level : level + 1)));
    for (let level = Math.max(...runs.map((run) => run.level)); level >= lowest; level--) {
      for (let from = 0; from < runs.length; from++) {
        let to = from;
        while (to < runs.length && runs[to]!.level >= level) to++;
        if (to > from) runs.splice(from, to - from, ...runs.slice(from, to).reverse());
        from = to;
      }
    }
    // A font turns what has letters of its right-to-left script; the rest is turned here.
    return runs.map((run) =>
      run.rightToLeft && !/\p{Script=Arabic}/u.test(run.text)
        ? { ...run, text: [...run.text].reverse().join('') }
        : run,
    );
  }

  /** The font of a character behind one of `current`: marks and what all scripts share stay with it. */
  #fontOf(character: string, current: FontName | undefined): FontName | undefined {
    const codePoint = character.codePointAt(0)!;
    // They would change the order of what follows, unseen.
    if (/\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(character)) return undefined;
    if (current && /\p{Script=Common}|\p{Script=Inherited}/u.test(character) && this.#has(current, codePoint))
      return current;
    return NAMES.find((font) => this.#has(font, codePoint));
  }
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Words with the space behind them; scripts without spaces may be broken between any two characters. */
function breakable(text: string): string[] {
  return (
    text
      .replace(/\s/gu, ' ')
      .match(
        /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[^ \p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]* ?/gu,
      ) ?? []
  );
}

function featuresOf({ rightToLeft }: Run): PDFKit.Mixins.OpenTypeFeatures[] {
  return rightToLeft ? ['rtla'] : [];
}

function bytesOf(file: string): Buffer {
  let bytes = files.get(file);
  if (!bytes) files.set(file, (bytes = readFileSync(file)));
  return bytes;
}
