import t from 'tap';
import { encodeAlaw, encodeMulaw } from '@parley/shared/audio/g711';
import { Resampler } from '@parley/shared/audio/resampler';
import { parseWav } from '@parley/shared/audio/wav';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { ListenClient, transcriptOf } from '../../test/fixtures/listen-client.ts';
import { openDeepgramEmulator } from './deepgram-emulator.ts';
import { FlitePhones } from '../recogniser/flite-phones.ts';

const KNOWN = [
  'I would like to book a table for two, please.',
  'What time do you open on Sunday?',
  'Can I speak to a real person?',
  'My order has not arrived yet.',
  'I need to cancel my appointment.',
  'How much does it cost?',
  'Yes, that works for me.',
  'No, thank you.',
  'Okay.',
  'Uh-huh.',
  'Mhm.',
  'Yes.',
  'No.',
  'Stop.',
  'Wait a second.',
  'Tomorrow at seven in the evening.',
  'My name is John Smith.',
  'My phone number is 555 0134.',
  'Could you repeat that, please?',
  'I am calling about my invoice.',
  'The address is 12 Baker Street.',
  'I want to change my delivery date.',
  'Do you have anything available next Friday?',
  'That is too expensive for me.',
  'Let me think about it.',
  'Please send me an email with the details.',
  'I forgot my password.',
  'Is there parking near the restaurant?',
  'Who am I speaking to?',
  'Can you hear me now?',
  'I would like to order a large pizza with mushrooms.',
  'How long will it take?',
  'Goodbye.',
  'Thank you very much for your help.',
];
const UNKNOWN = [
  'The quarterly report shows a rise in profits across Europe.',
  'Have you ever visited the mountains in winter?',
  'We painted the bedroom light green last weekend.',
  'It might rain later so bring an umbrella.',
  'Sounds interesting.',
  'Absolutely not a chance.',
];
const NOVA = '/v1/listen?model=nova-3&encoding=mulaw&sample_rate=8000&interim_results=true&punctuate=true';
const delays = {
  interim: 0,
  speechStarted: 0,
  speechFinal: 0,
  finalize: 0,
  utteranceEnd: 0,
  interimEveryMs: 200,
};

const flite = new FlitePhones();
const random = seededRandom(7);
const spoken = new Map<string, ReturnType<typeof parseWav>>();

/** Speech at 8 kHz. */
function say(text: string, voice: string, speed = 1): Int16Array {
  const key = `${voice} ${text}`;
  let wav = spoken.get(key);
  if (!wav) {
    wav = parseWav(flite.speak(text, voice).wav);
    spoken.set(key, wav);
  }
  return new Resampler(wav.sampleRate, Math.round(8000 / speed / 80) * 80).process(wav.samples);
}

function quiet(ms: number): Int16Array {
  return new Int16Array(ms * 8);
}

function join(...parts: Int16Array[]): Int16Array {
  const whole = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function amplify(samples: Int16Array, db: number): Int16Array {
  return samples.map((sample) => Math.max(-32768, Math.min(32767, sample * 10 ** (db / 20))));
}

/** White noise below the mean power of the whole. */
function addNoise(samples: Int16Array, belowDb: number): Int16Array {
  let power = 0;
  for (const sample of samples) power += sample * sample;
  const noise = Math.sqrt(power / samples.length) * 10 ** (-belowDb / 20);
  const gaussian = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return samples.map((sample) => Math.max(-32768, Math.min(32767, sample + noise * gaussian())));
}

const emulator = await openDeepgramEmulator({ mode: 'recognise', delays });
await emulator.teach(KNOWN);
t.teardown(() => emulator[Symbol.asyncDispose]());

interface Heard {
  /** All finals of the utterance. */
  text: string;
  interims: string[];
}

/** Speaks into one connection, utterance by utterance, and hears what was understood of each. */
async function hear(utterances: readonly Int16Array[], query = '&endpointing=300'): Promise<Heard[]> {
  const client = await ListenClient.open(emulator.url, NOVA + query);
  const heard: Heard[] = [];
  for (const utterance of utterances) {
    const bytes = encodeMulaw(join(quiet(200), utterance, quiet(500)));
    for (let at = 0; at < bytes.length; at += 160) client.send(bytes.subarray(at, at + 160));
    client.say({ type: 'Finalize' });
    const finals: string[] = [];
    const interims: string[] = [];
    await client.next((message) => {
      if (message.type === 'Results') (message['is_final'] ? finals : interims).push(transcriptOf(message));
      return message['from_finalize'] === true;
    });
    heard.push({ text: finals.filter(Boolean).join(' '), interims: interims.filter(Boolean) });
  }
  client.terminate();
  return heard;
}

/** @returns those not understood, as text for the report */
async function misheard(texts: readonly string[], render: (text: string) => Int16Array): Promise<string[]> {
  const heard = await hear(texts.map(render));
  return texts.flatMap((text, index) => {
    const expected = KNOWN.includes(text) ? text : '';
    return heard[index]!.text === expected ? [] : [`"${text}" as "${heard[index]!.text}"`];
  });
}

void t.test(
  'every taught sentence is recognised, and speech that is none of them is heard as nothing',
  async (t) => {
    const some = KNOWN.filter((_, index) => index % 6 === 0);
    for (const [voice, known, unknown] of [
      ['slt', KNOWN, UNKNOWN],
      ['rms', some, UNKNOWN.slice(0, 2)],
    ] as const) {
      t.same(
        await misheard(known, (text) => say(text, voice)),
        [],
        `${known.length} sentences of the voice ${voice}`,
      );
      t.same(await misheard(unknown, (text) => say(text, voice)), [], `${unknown.length} unknown ones`);
    }
  },
);

void t.test('through gain, noise and other speakers nearly all are recognised', async (t) => {
  const every = KNOWN.filter((_, index) => index % 6 === 0);
  for (const [title, render] of [
    ['6 dB quieter', (text: string) => amplify(say(text, 'slt'), -6)],
    ['6 dB louder', (text: string) => amplify(say(text, 'slt'), 6)],
    ['noise 25 dB below', (text: string) => addNoise(say(text, 'slt'), 25)],
    ['slower and lower by 7 percent', (text: string) => say(text, 'slt', 0.93)],
    ['faster and higher by 7 percent', (text: string) => say(text, 'slt', 1.07)],
  ] as const) {
    const missed = await misheard(every, render);
    t.ok(missed.length <= 1, `${title}: ${every.length - missed.length} of ${every.length}`, { missed });
  }
});

void t.test('noise alone is no speech', async (t) => {
  const noises = [1000, 8000].map((level) =>
    Int16Array.from({ length: 16_000 }, () => (random() - 0.5) * level),
  );
  t.same(
    (await hear(noises)).map(({ text }) => text),
    ['', ''],
  );
});

void t.test('interims grow word by word towards the sentence', async (t) => {
  const text = 'I would like to book a table for two, please.';
  const [heard] = await hear([say(text, 'slt')]);
  t.ok(heard!.interims.length >= 5);
  for (const interim of heard!.interims) t.ok(text.startsWith(interim), interim);
  t.ok(heard!.interims[0]!.length < 20, 'from a few words');
});

void t.test(
  'a pause inside a sentence does not lose its rest, though an endpoint is reported there',
  async (t) => {
    const whole = say('I need to cancel my appointment.', 'slt');
    // Between "cancel" and "my", the quietest place in the middle.
    const pieces = splitAtQuietest(whole, 0.45, 0.65);
    for (const pauseMs of [300, 600]) {
      const [heard] = await hear([join(pieces[0], quiet(pauseMs), pieces[1])]);
      t.equal(heard!.text, 'I need to cancel my appointment.', `${pauseMs} ms`);
    }
  },
);

void t.test('of a sentence that is cut off, the words heard so far', async (t) => {
  const text = 'I would like to order a large pizza with mushrooms.';
  const whole = say(text, 'slt');
  const [heard] = await hear([whole.subarray(0, Math.round(whole.length * 0.6))]);
  t.ok(text.startsWith(heard!.text), heard!.text);
  t.ok(heard!.text.startsWith('I would like to order'), heard!.text);
  t.not(heard!.text, text);
});

void t.test('two sentences in one utterance are both heard', async (t) => {
  const two = join(say('No, thank you.', 'slt'), quiet(100), say('How much does it cost?', 'slt'));
  const [heard] = await hear([two]);
  t.equal(heard!.text, 'No, thank you. How much does it cost?');
});

void t.test('words have their times', async (t) => {
  const client = await ListenClient.open(emulator.url, `${NOVA}&endpointing=300`);
  const speech = say('What time do you open on Sunday?', 'slt');
  client.send(encodeMulaw(join(quiet(2000), speech, quiet(600))));
  const final = await client.next((message) => message['speech_final'] === true);
  const { words } = (final!['channel'] as { alternatives: [{ words: { start: number; end: number }[] }] })
    .alternatives[0];
  t.equal(words.length, 7);
  t.ok(words[0]!.start >= 1.9 && words[0]!.start < 2.5, `the first starts at ${words[0]!.start} s`);
  const end = 2 + speech.length / 8000;
  t.ok(Math.abs(words[6]!.end - end) < 0.4, `the last ends at ${words[6]!.end} s, the speech at ${end}`);
  for (const [index, word] of words.entries())
    t.ok(word.start < word.end && word.start >= (words[index - 1]?.end ?? 0));
  client.terminate();
});

void t.test('other encodings and rates are heard as well, and whole files', async (t) => {
  const text = 'My order has not arrived yet.';
  const speech = join(quiet(200), say(text, 'slt'), quiet(300));
  const wide = new Resampler(8000, 16_000).process(speech);
  for (const [format, bytes] of [
    ['encoding=alaw&sample_rate=8000', encodeAlaw(speech)],
    ['encoding=linear16&sample_rate=16000', new Uint8Array(wide.buffer, wide.byteOffset, wide.byteLength)],
  ] as const) {
    const answer = await fetch(
      `${emulator.url}/v1/listen?model=nova-3&punctuate=true&endpointing=300&${format}`,
      {
        method: 'POST',
        headers: { authorization: 'Token k', 'content-type': 'application/octet-stream' },
        body: new Uint8Array(bytes),
      },
    );
    t.match(
      await answer.json(),
      { results: { channels: [{ alternatives: [{ transcript: text }] }] } },
      format,
    );
  }
});

void t.test('Flux tells the same words in its own events', async (t) => {
  const client = await ListenClient.open(
    emulator.url,
    '/v2/listen?model=flux-general-en&encoding=mulaw&sample_rate=8000',
  );
  client.send(encodeMulaw(join(quiet(300), say('Let me think about it.', 'slt'), quiet(1500))));
  const start = await client.next((message) => message['event'] === 'StartOfTurn');
  t.ok('Let me think about it.'.startsWith(start!['transcript'] as string) && start!['transcript'] !== '');
  const end = await client.next((message) => message['event'] === 'EndOfTurn');
  t.equal(end!['transcript'], 'Let me think about it.');
  client.terminate();
});

void t.test('another process teaches by HTTP, during a connection, from the next utterance on', async (t) => {
  const text = 'Where is my umbrella?';
  const before = (await hear([say(text, 'slt')]))[0]!.text;
  t.equal(before, '', 'unknown at first');
  const post = (body: string, type = 'application/json') =>
    fetch(`${emulator.url}/__emulator/sentences`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
  const taught = await post(JSON.stringify({ sentences: [text] }));
  t.match(await taught.json(), { known: KNOWN.length + 1 });
  t.equal((await hear([say(text, 'slt')]))[0]!.text, text);
  t.equal((await post('{"sentences":"no list"}')).status, 422);
  t.equal((await post('{}', 'text/plain')).status, 415);
});

/** Splits where 20 ms hold the least energy, between two fractions of the whole. */
function splitAtQuietest(samples: Int16Array, from: number, to: number): [Int16Array, Int16Array] {
  let best = 0;
  let least = Infinity;
  for (let at = Math.round(samples.length * from); at < samples.length * to; at += 80) {
    let power = 0;
    for (const sample of samples.subarray(at - 80, at + 80)) power += sample * sample;
    if (power >= least) continue;
    least = power;
    best = at;
  }
  return [samples.subarray(0, best), samples.subarray(best)];
}
