export interface Chunking {
  max_characters: number;
  overlap_characters: number;
}

/** A passage of a document. */
export interface TextChunk {
  /** The headings above it, outermost first, joined by ` > `; empty: none. */
  heading: string;
  text: string;
}

const MAX_HEADING_CHARACTERS = 300;

/**
 * Splits a text at its Markdown headings, then at paragraphs, then at sentences, and only then within them. No passage
 * is longer than `max_characters`. A passage that goes on where another ended within a section repeats the last of it,
 * up to `overlap_characters`. Short paragraphs of one section share a passage.
 */
export function* chunkText(text: string, chunking: Chunking): Generator<TextChunk> {
  for (const { heading, body } of sectionsOf(text)) {
    let open = '';
    for (const piece of piecesOf(body, chunking.max_characters)) {
      const joined = open === '' ? piece : `${open}\n\n${piece}`;
      if (joined.length <= chunking.max_characters) {
        open = joined;
        continue;
      }
      yield { heading, text: open };
      const repeated = endOf(
        open,
        Math.min(chunking.overlap_characters, chunking.max_characters - piece.length - 2),
      );
      open = repeated === '' ? piece : `${repeated}\n\n${piece}`;
    }
    if (open !== '') yield { heading, text: open };
  }
}

interface Section {
  heading: string;
  body: string;
}

/** The text under each heading. Lines of a fenced block are no headings. A heading without text has no section. */
function* sectionsOf(text: string): Generator<Section> {
  const headings: string[] = [];
  let lines: string[] = [];
  let fence = '';
  const section = (): Section => ({
    heading: headings
      .filter((one) => one !== undefined && one !== '')
      .join(' > ')
      .slice(0, MAX_HEADING_CHARACTERS),
    body: lines.join('\n'),
  });
  const all = text.replace(/\r\n?/g, '\n').split('\n');
  for (const [number, line] of all.entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? '';
    if (fence === '') fence = mark;
    else if (mark.startsWith(fence)) fence = '';
    const heading = fence === '' ? headingOf(line, all[number + 1]) : undefined;
    if (!heading) {
      // The line under a heading that underlines it.
      if (!(fence === '' && number > 0 && headingOf(all[number - 1]!, line)?.underlined === true))
        lines.push(line);
      continue;
    }
    if (lines.some((one) => one.trim() !== '')) yield section();
    lines = [];
    headings.length = heading.level - 1;
    headings[heading.level - 1] = heading.text;
  }
  if (lines.some((one) => one.trim() !== '')) yield section();
}

function headingOf(
  line: string,
  next: string | undefined,
): { level: number; text: string; underlined: boolean } | undefined {
  const marked = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
  if (marked) return { level: marked[1]!.length, text: plain(marked[2]!), underlined: false };
  if (line.trim() === '' || line.length > 200 || /^\s*([-*>|]|\d+\.)/.test(line)) return undefined;
  if (/^={3,}\s*$/.test(next ?? '')) return { level: 1, text: plain(line), underlined: true };
  if (/^-{3,}\s*$/.test(next ?? '')) return { level: 2, text: plain(line), underlined: true };
  return undefined;
}

/** A heading without the marks of Markdown and HTML. */
function plain(text: string): string {
  return text
    .replace(/<[^>]{0,200}>/g, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*_]/g, '')
    .trim();
}

/** Paragraphs, and of those that are too long their sentences, as many as fit together. */
function* piecesOf(body: string, max: number): Generator<string> {
  for (const paragraph of body.split(/\n[ \t]*\n+/)) {
    const text = paragraph.replace(/^\n+|\s+$/g, '');
    if (text.trim() === '') continue;
    if (text.length <= max) yield text;
    else yield* packed(sentencesOf(text, max), max);
  }
}

/** Puts together what follows one another, as far as it fits. */
function* packed(pieces: Iterable<string>, max: number): Generator<string> {
  let open = '';
  for (const piece of pieces) {
    if (open.length + piece.length > max) {
      if (open.trim() !== '') yield open.trim();
      open = '';
    }
    open += piece;
  }
  if (open.trim() !== '') yield open.trim();
}

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });
/** What the segmenter takes at a time: it is slow with texts that are very long. */
const SEGMENTED_CHARACTERS = 20_000;

function* sentencesOf(text: string, max: number): Generator<string> {
  for (let from = 0; from < text.length; from += SEGMENTED_CHARACTERS) {
    for (const { segment } of sentences.segment(text.slice(from, from + SEGMENTED_CHARACTERS))) {
      if (segment.length <= max) yield segment;
      else yield* wordsOf(segment, max);
    }
  }
}

/** Splits between words, and a word that is too long anywhere but within a character. */
function* wordsOf(text: string, max: number): Generator<string> {
  for (const word of text.split(/(?<=\s)/)) {
    for (let from = 0; from < word.length;) {
      let to = Math.min(from + max, word.length);
      if (to < word.length && /[\uD800-\uDBFF]/.test(word[to - 1]!)) to--;
      yield word.slice(from, to);
      from = to;
    }
  }
}

/** The last words of a text. */
function endOf(text: string, length: number): string {
  if (length <= 0) return '';
  if (text.length <= length) return text;
  const end = text.slice(-length);
  const space = end.search(/\s/);
  return space === -1 ? '' : end.slice(space).trim();
}
