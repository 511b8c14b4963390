import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { systemClock } from '@parley/shared/time/clock';
import { docxParagraph, makeDocx, makePdf } from '../../../test/fixtures/make-document.ts';
import type { DocumentFormat } from '../files/document-format.ts';
import type { TextChunk } from './chunk-text.ts';
import { DOCUMENT_FAILURES, DocumentError } from './document-error.ts';
import type { DocumentFailure } from './document-error.ts';
import { extractDocument } from './extract-document.ts';

const folder = await mkdtemp(join(tmpdir(), 'parley-documents-'));
t.teardown(() => rm(folder, { recursive: true, force: true }));
let count = 0;

async function extract(format: DocumentFormat, content: string | Uint8Array): Promise<TextChunk[]> {
  const path = join(folder, `${++count}.${format}`);
  await writeFile(path, content);
  const order = { path, format, chunking: { max_characters: 1500, overlap_characters: 150 } };
  const { signal } = new AbortController();
  const chunks: TextChunk[] = [];
  for await (const chunk of extractDocument(order, { clock: systemClock, signal })) chunks.push(chunk);
  return chunks;
}

const page = `<html><head><title>x</title><script>alert('no')</script></head><body><nav>Menu</nav>
  <main><h1>The shop</h1><p>Chairs &amp; tables.</p><h2>Returns</h2><p>Within <b>30</b> days.</p>
  <table><tr><th>Day</th><th>Open</th></tr><tr><td>Monday</td><td>9 to 6</td></tr></table></main>
  <footer>Imprint</footer></body></html>`;

void t.test('the text of each kind of document, under its headings', async (t) => {
  const docx = makeDocx(
    [
      docxParagraph('The shop', 'Heading1'),
      docxParagraph('Chairs.'),
      docxParagraph('Returns', 'Heading2'),
      docxParagraph('Within 30 days.'),
    ].join(''),
  );
  const [html, word, pdf, csv, json, latin] = await Promise.all([
    extract('html', page),
    extract('docx', docx),
    extract('pdf', makePdf(['Returns within 30 days.', 'Open from nine.'])),
    extract('csv', 'Day;Open\nMonday;9 to 6\nSunday;\n'),
    extract('json', '{"hours":[{"day":"Monday","open":"9 to 6"},{"day":"Sunday","open":null}]}'),
    extract('txt', Buffer.from('Caf\xe9 ge\xf6ffnet', 'latin1')),
  ]);
  t.match(html, [
    { heading: 'The shop', text: 'Chairs & tables.' },
    { heading: 'The shop > Returns', text: /^Within 30 days\.[^]*Monday +9 to 6$/ },
  ]);
  t.notMatch(JSON.stringify(html), /Menu|Imprint|alert/);
  t.same(word, [
    { heading: 'The shop', text: 'Chairs.' },
    { heading: 'The shop > Returns', text: 'Within 30 days.' },
  ]);
  t.match(pdf, [{ heading: '', text: /Returns within 30 days\.\s+Open from nine\./ }]);
  t.match(csv, [{ text: 'Day: Monday\nOpen: 9 to 6\n\nDay: Sunday' }]);
  t.match(json, [{ text: 'hours day: Monday\nhours open: 9 to 6\n\nhours day: Sunday' }]);
  t.same(latin, [{ heading: '', text: 'Café geöffnet' }]);
});

const entities = `<!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/passwd">]>`;

void t.test('a hostile document fails with a reason, and takes nobody along', async (t) => {
  const hostile: [
    what: string,
    format: DocumentFormat,
    content: string | Uint8Array,
    failure: DocumentFailure,
  ][] = [
    ['a PDF cut off', 'pdf', makePdf(['x']).subarray(0, 120), 'broken'],
    ['a PDF of scans', 'pdf', makePdf(['', '']), 'no_text'],
    ['a PDF of 10,000 pages', 'pdf', makePdf(Array<string>(10_000).fill('x')), 'too_many_pages'],
    ['no docx at all', 'docx', 'MZ', 'broken'],
    [
      'a docx that says what it unpacks to',
      'docx',
      makeDocx('', { claims: 400_000_000 }),
      'unpacks_too_large',
    ],
    [
      'a docx that reads a file',
      'docx',
      makeDocx('<w:p><w:r><w:t>&x;</w:t></w:r></w:p>', { before: entities }),
      'broken',
    ],
    ['JSON that is none', 'json', '{"a":', 'broken'],
    ['JSON too deep', 'json', '['.repeat(5000) + ']'.repeat(5000), 'too_deep'],
    ['a page too deep', 'html', `${'<div>'.repeat(20_000)}x${'</div>'.repeat(20_000)}`, 'no_text'],
    ['a program', 'txt', new Uint8Array([77, 90, 0, 1]), 'not_text'],
    ['nothing', 'md', '\n\n', 'no_text'],
  ];
  for (const [what, format, content, failure] of hostile) {
    const error = await extract(format, content).then(
      () => undefined,
      (error: unknown) => error,
    );
    t.ok(error instanceof DocumentError, what);
    t.equal(error instanceof Error && error.message, DOCUMENT_FAILURES[failure], what);
  }
});

void t.test('whoever stops listening ends the process', async (t) => {
  const path = join(folder, 'long.txt');
  await writeFile(path, 'All work and no play.\n\n'.repeat(100_000));
  const order = { path, format: 'txt', chunking: { max_characters: 200, overlap_characters: 0 } } as const;
  const stop = new AbortController();
  let chunks = 0;
  await t.rejects(
    (async () => {
      for await (const _ of extractDocument(order, { clock: systemClock, signal: stop.signal }))
        if (++chunks === 3) stop.abort(new Error('stopped'));
    })(),
    { message: /stopped|limits of time/ },
  );
  t.ok(chunks >= 3);
});

void t.test('a document that unpacks to more than it says ends its process alone', async (t) => {
  if (process.env['TEST_LONG'] !== '1') return t.pass('only with TEST_LONG=1');
  const bomb = makeDocx(docxParagraph('a'.repeat(400_000_000)), { claims: 1000 });
  await t.rejects(extract('docx', bomb), { message: /damaged|limits of time and memory/ });
});
