import t from 'tap';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { chunksOf, parseOutputFormat, speechRenderer, toneRenderer } from './voice-renderer.ts';
import type { RenderedSpeech, VoiceRenderer } from './voice-renderer.ts';

const MULAW: AudioFormat = { encoding: 'pcmu', sampleRate: 8000 };

async function render(renderer: VoiceRenderer, text: string, format = MULAW): Promise<RenderedSpeech[]> {
  const pieces: RenderedSpeech[] = [];
  for await (const piece of renderer.render(text, format, new AbortController().signal)) pieces.push(piece);
  return pieces;
}

void t.test('text is cut after sentences, and whatever it holds none of it is lost', async (t) => {
  const texts = async (text: string) => (await render(toneRenderer(), text)).map((piece) => piece.text);
  t.same(await texts('It is 3.5 now. Fine?! Yes '), ['It is 3.5 now. ', 'Fine?! ', 'Yes ']);
  for (const text of [
    ' ',
    '...',
    '\n\nhi',
    'a\u{1f600}b. c',
    'word '.repeat(300),
    'x'.repeat(1001),
    'no end.x'.repeat(90),
  ]) {
    const pieces = await texts(text);
    t.equal(pieces.join(''), text);
    t.ok(pieces.every((piece) => piece.length <= 410));
  }
  t.ok(
    (await texts('word '.repeat(300))).every((piece) => /^(word )+$/.test(piece)),
    'words stay whole',
  );
});

void t.test('tones last 60 ms a character, whatever the format', async (t) => {
  for (const [name, bytesPerCharacter] of [
    ['ulaw_8000', 480],
    ['alaw_8000', 480],
    ['pcm_16000', 1920],
    ['pcm_24000', 2880],
  ] as const) {
    const [piece] = await render(toneRenderer(), 'one, two', parseOutputFormat(name));
    t.equal(piece!.bytes.length, 8 * bytesPerCharacter, name);
    t.equal(piece!.durationMs, 480);
  }
});

void t.test('a voice is asked sentence by sentence and brought into the format', async (t) => {
  const asked: string[] = [];
  const speech = {
    synthesize: (text: string) => {
      asked.push(text);
      return Promise.resolve(new Int16Array(16_000));
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const pieces = await render(speechRenderer(speech), 'One. Two.');
  t.same(asked, ['One. ', 'Two.']);
  t.same(
    pieces.map(({ bytes, durationMs }) => [bytes.length, durationMs]),
    [
      [8000, 1000],
      [8000, 1000],
    ],
  );
  t.same(pieces[1]!.startsMs, [0, 250, 500, 750]);
});

void t.test('chunks hold 100 to 200 ms, whole samples, and every character once', async (t) => {
  const format: AudioFormat = { encoding: 'pcm16', sampleRate: 22_050 };
  const [piece] = await render(toneRenderer(), 'a sentence long enough for a few chunks', format);
  let drawn = 0;
  const chunks = [...chunksOf(piece!, format, () => (drawn++ % 10) / 10)];
  t.same(Buffer.concat(chunks.map(({ bytes }) => bytes)), Buffer.from(piece!.bytes));
  t.equal(chunks.flatMap(({ alignment }) => alignment.chars).join(''), piece!.text);
  for (const { bytes, durationMs, alignment } of chunks) {
    t.equal(bytes.length % 2, 0);
    t.ok(durationMs <= 201);
    t.ok(alignment.charStartTimesMs.every((ms) => ms >= 0 && ms <= durationMs));
  }
  t.ok(chunks.slice(0, -1).every(({ durationMs }) => durationMs >= 99));
});

void t.test('formats that are not spoken are unknown', async (t) => {
  for (const name of ['mp3_44100_128', 'opus_48000_32', 'pcm_12345', 'ulaw_16000', '']) {
    t.equal(parseOutputFormat(name), undefined, name);
  }
});
