import { readFile } from 'node:fs/promises';
import type { FormatCallback } from 'html-to-text';
import type { DocumentFormat } from '../files/document-format.ts';
import { DocumentError } from './document-error.ts';

/** Pages of a PDF. */
const MAX_PAGES = 2000;
/** All that a docx unpacks to. */
const MAX_UNPACKED_BYTES = 200 * 1024 * 1024;
const MAX_DEPTH = 200;

/**
 * The text of a document, its headings marked as in Markdown, part by part. Runs in a process of its own: a document
 * may be made to exhaust whoever reads it.
 * @throws DocumentError
 */
export async function* readDocument(path: string, format: DocumentFormat): AsyncGenerator<string> {
  switch (format) {
    case 'pdf':
      yield* readPdf(await readFile(path));
      return;
    case 'docx':
      yield await htmlToText(await readDocx(path));
      return;
    case 'html':
      yield await htmlToText(decode(await readFile(path)));
      return;
    case 'csv':
      yield* readCsv(decode(await readFile(path)));
      return;
    case 'json':
      yield* readJson(decode(await readFile(path)));
      return;
    case 'txt':
    case 'md':
      yield decode(await readFile(path));
  }
}

/** UTF-8, UTF-16 where its mark says so, else what old Windows programs write. @throws DocumentError `not_text` */
function decode(bytes: Buffer): string {
  const utf16 =
    bytes[0] === 0xff && bytes[1] === 0xfe
      ? 'utf-16le'
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? 'utf-16be'
        : null;
  let text: string;
  try {
    text = new TextDecoder(utf16 ?? 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    text = new TextDecoder('windows-1252').decode(bytes);
  }
  if (text.includes('\0')) throw new DocumentError('not_text');
  return text;
}

async function* readPdf(bytes: Buffer): AsyncGenerator<string> {
  const { getDocumentProxy } = await import('unpdf');
  const pdf = await getDocumentProxy(new Uint8Array(bytes)).catch((cause: unknown) => {
    const encrypted = cause instanceof Error && /password/i.test(`${cause.name} ${cause.message}`);
    throw new DocumentError(encrypted ? 'encrypted' : 'broken', { cause });
  });
  if (pdf.numPages > MAX_PAGES) throw new DocumentError('too_many_pages');
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    let text = '';
    let lastY: number | undefined;
    for (const item of items) {
      if (!('str' in item)) continue;
      const y = (item.transform as number[])[5]!;
      // A gap of more than one and a half lines begins a paragraph.
      if (lastY !== undefined && Math.abs(lastY - y) > Math.max(item.height, 6) * 1.6) text += '\n\n';
      text += item.str + (item.hasEOL ? '\n' : '');
      if (item.str.trim() !== '') lastY = y;
    }
    yield `${text}\n\n`;
    page.cleanup();
  }
}

async function readDocx(path: string): Promise<string> {
  await checkArchive(path);
  const { default: mammoth } = await import('mammoth');
  try {
    const { value } = await mammoth.convertToHtml(
      { path },
      {
        convertImage: mammoth.images.imgElement(() => Promise.resolve({ src: '' })),
        externalFileAccess: false,
      },
    );
    return value;
  } catch (cause) {
    throw new DocumentError('broken', { cause });
  }
}

/** Looks at what an archive says that it holds, before anything is unpacked. */
async function checkArchive(path: string): Promise<void> {
  const { openPromise } = await import('yauzl').then(({ default: yauzl }) => ({
    openPromise: (file: string) =>
      new Promise<import('yauzl').ZipFile>((resolve, reject) =>
        yauzl.open(file, { lazyEntries: true }, (error, zip) => (error ? reject(error) : resolve(zip))),
      ),
  }));
  const zip = await openPromise(path).catch((cause: unknown) => {
    throw new DocumentError('broken', { cause });
  });
  await new Promise<void>((resolve, reject) => {
    let bytes = 0;
    zip.on('entry', (entry: import('yauzl').Entry) => {
      bytes += entry.uncompressedSize;
      if (bytes > MAX_UNPACKED_BYTES) reject(new DocumentError('unpacks_too_large'));
      else zip.readEntry();
    });
    zip.on('end', resolve);
    zip.on('error', (cause) => reject(new DocumentError('broken', { cause })));
    zip.readEntry();
  }).finally(() => zip.close());
}

/** What stands around the content of a page. */
const SKIPPED = [
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'nav',
  'footer',
  'aside',
  'form',
  'iframe',
  'img',
  'button',
];

async function htmlToText(html: string): Promise<string> {
  const { compile } = await import('html-to-text');
  const levels = [1, 2, 3, 4, 5, 6];
  const marked =
    (level: number): FormatCallback =>
    (element, walk, builder) => {
      builder.openBlock({ leadingLineBreaks: 2 });
      builder.addInline(`${'#'.repeat(level)} `);
      walk(element.children, builder);
      builder.closeBlock({ trailingLineBreaks: 2 });
    };
  const convert = compile({
    wordwrap: false,
    baseElements: { selectors: ['main', 'article', 'body'], returnDomByDefault: true },
    limits: { maxDepth: MAX_DEPTH, ellipsis: '' },
    formatters: Object.fromEntries(levels.map((level) => [`h${level}`, marked(level)])),
    selectors: [
      ...SKIPPED.map((selector) => ({ selector, format: 'skip' })),
      ...levels.map((level) => ({ selector: `h${level}`, format: `h${level}` })),
      { selector: 'a', options: { ignoreHref: true } },
      {
        selector: 'table',
        format: 'dataTable',
        options: { uppercaseHeaderCells: false, maxColumnWidth: 200 },
      },
    ],
  });
  return convert(html);
}

/** Each row as `column: value` lines, so that a passage says what its values are. */
async function* readCsv(text: string): AsyncGenerator<string> {
  const { parse } = await import('csv-parse/sync');
  const delimiter = [',', ';', '\t'].toSorted((a, b) => countIn(text, b) - countIn(text, a))[0]!;
  let rows: string[][];
  try {
    rows = parse(text, {
      delimiter,
      bom: true,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
    });
  } catch (cause) {
    throw new DocumentError('broken', { cause });
  }
  const [names = [], ...records] = rows;
  if (records.length === 0) yield names.join(', ');
  for (const record of records) {
    const lines = record.flatMap((value, at) =>
      value.trim() === '' ? [] : [`${names[at]?.trim() || `column ${at + 1}`}: ${value.trim()}`],
    );
    yield `${lines.join('\n')}\n\n`;
  }
}

/** How often it occurs in the first line. */
function countIn(text: string, character: string): number {
  return text.slice(0, text.search(/\n|$/)).split(character).length;
}

/** Each value as a line `path: value`; what lies within one entry of a list is one paragraph. */
function* readJson(text: string): Generator<string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new DocumentError('broken', { cause });
  }
  yield* linesOf(value, '', 0);
}

function* linesOf(value: unknown, path: string, depth: number): Generator<string> {
  if (depth > MAX_DEPTH) throw new DocumentError('too_deep');
  if (Array.isArray(value)) {
    for (const entry of value as unknown[]) {
      yield* linesOf(entry, path, depth + 1);
      yield typeof entry === 'object' ? '\n' : '';
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, child] of Object.entries(value))
      yield* linesOf(child, path === '' ? key : `${path} ${key}`, depth + 1);
  } else if (value !== null && value !== '') {
    yield path === '' ? `${String(value as string)}\n` : `${path}: ${String(value as string)}\n`;
  }
}
