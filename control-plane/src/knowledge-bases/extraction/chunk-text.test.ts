import t from 'tap';
import { chunkText } from './chunk-text.ts';

const chunks = (text: string, max_characters = 200, overlap_characters = 0) => [
  ...chunkText(text, { max_characters, overlap_characters }),
];

void t.test('a text is split at its headings, whichever way they are marked', async (t) => {
  const text = [
    'Before.',
    '# One `code`',
    '## Two',
    'Under two.\n\nStill.',
    '### [Three](https://example.com)',
    'Under three.',
    'Four',
    '====',
    'Under four.',
    '```sh\n# no heading\n```',
  ]
    .join('\n\n')
    .replace('Four\n\n====', 'Four\n====');
  t.same(chunks(text), [
    { heading: '', text: 'Before.' },
    { heading: 'One code > Two', text: 'Under two.\n\nStill.' },
    { heading: 'One code > Two > Three', text: 'Under three.' },
    { heading: 'Four', text: 'Under four.\n\n```sh\n# no heading\n```' },
  ]);
});

void t.test('what is too long is split at paragraphs, then sentences, then words', async (t) => {
  const sentence = 'This sentence has some words. ';
  const long = `${sentence.repeat(9)}\n\nA paragraph of its own.\n\n${'x'.repeat(450)}`;
  const found = chunks(long);
  t.ok(found.every(({ text }) => text.length <= 200 && text !== ''));
  t.equal(found[0]!.text, sentence.repeat(6).trim());
  t.equal(found[1]!.text, `${sentence.repeat(3).trim()}\n\nA paragraph of its own.`);
  t.equal(
    found
      .map(({ text }) => text)
      .join('')
      .replace(/\s/g, ''),
    long.replace(/\s/g, ''),
  );
  t.notMatch(
    chunks('😀'.repeat(300), 201).map(({ text }) => text.at(0)),
    [/[\uDC00-\uDFFF]/],
    'no half characters',
  );
});

void t.test('a passage repeats the end of the one before within its section', async (t) => {
  const text = `# A\n\n${['one', 'two', 'three', 'four'].map((word) => `${word} ${'w'.repeat(90)}.`).join('\n\n')}\n\n# B\n\nlast`;
  const found = chunks(text, 200, 60);
  t.ok(found.length > 2);
  t.ok(found.every((one) => one.text.length <= 200));
  t.match(chunks('alpha beta gamma.\n\n' + 'y'.repeat(190), 200, 8)[1]!.text, /^gamma\.\n\ny+$/);
  t.equal(found.at(-1)!.text, 'last', 'and nothing of another section');
});
