import { readFileSync } from 'node:fs';
import t from 'tap';
import { parseWav } from '@parley/shared/audio/wav';
import { Resampler } from '@parley/shared/audio/resampler';
import { decodeModel } from './acoustic-model.ts';
import { Decoder } from './decoder.ts';
import { FeatureStream } from './features.ts';
import { FlitePhones } from './flite-phones.ts';
import { divide, Pronunciation } from './pronunciation.ts';
import { buildGraph } from './sentence-graph.ts';

const model = decodeModel(readFileSync(new URL('acoustic-model.bin', import.meta.url)));
const flite = new FlitePhones();
const pronunciation = new Pronunciation(flite, model.phones);

function say(text: string): Int16Array {
  const { samples, sampleRate } = parseWav(flite.speak(text, 'slt').wav);
  return new Resampler(sampleRate, 8000).process(samples);
}

function graphOf(...texts: string[]) {
  return buildGraph(
    model,
    texts.map((text) => pronunciation.pronounce(text)).filter((sentence) => sentence !== undefined),
  );
}

const text = (decoder: Decoder) =>
  decoder
    .words()
    .map((word) => word.text)
    .join(' ');

void t.test('an utterance without end keeps its words in bounded memory', async (t) => {
  const sentences = ['What time is it now?', 'Where is the station?'];
  const decoder = new Decoder(model, graphOf(...sentences));
  const features = new FeatureStream(model.usualMean, (frame) => decoder.push(frame));
  const spoken = sentences.map(say);
  const expected: string[] = [];
  // Far more frames than there is room for the ways through them.
  for (let turn = 0; turn < 40; turn++) {
    features.push(spoken[turn % 2]!);
    features.push(new Int16Array(1600));
    expected.push(sentences[turn % 2]!);
  }
  t.equal(text(decoder), expected.join(' '));
});

void t.test('one who was taught nothing hears nothing', async (t) => {
  const decoder = new Decoder(model, graphOf());
  new FeatureStream(model.usualMean, (frame) => decoder.push(frame)).push(say('Is anybody there?'));
  t.equal(text(decoder), '');
});

void t.test('a sentence keeps its words as they are written, however they are spoken', async (t) => {
  const words = (sentence: string) => pronunciation.pronounce(sentence)?.words;
  t.same(words('It costs $25 - or 12:45, Dr. Who?'), ['It', 'costs', '$25 -', 'or', '12:45,', 'Dr.', 'Who?']);
  t.same(words('...'), undefined, 'nothing to say');
  const sentence = pronunciation.pronounce('a b 日本');
  t.same(sentence?.words, ['a', 'b 日本'], 'what cannot be spoken stays with the word before it');
});

void t.test('the phones of a sentence are divided among its words', async (t) => {
  const alone = [['ey'], ['t', 'uw'], ['dh', 'ax']];
  t.same(divide(['ax', 't', 'ax', 'dh', 'iy'], alone), [['ax'], ['t', 'ax'], ['dh', 'iy']]);
  t.same(divide(['ax', 't', 'uw'], alone), undefined, 'not when a word would get none');
});

void t.test('a damaged model is refused', async (t) => {
  t.throws(() => decodeModel(new Uint8Array(100)), /not an acoustic model/);
});
