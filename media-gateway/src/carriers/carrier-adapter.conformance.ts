import { readFile, readdir } from 'node:fs/promises';
import type { Test } from 'tap';
import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { CarrierProtocolError } from './carrier-adapter.ts';
import type { CarrierAdapter, CarrierCommand, CarrierEvent } from './carrier-adapter.ts';

export interface CarrierCase {
  create: () => CarrierAdapter;
  /** Folder of `received-*.json` and `sent-*.json`, one message each. */
  fixtures: URL;
  /** What each received message means once the stream has started; undefined = of no use to a call. */
  received: Record<string, CarrierEvent | undefined>;
  /** The command behind each sent message. */
  sent: Record<string, CarrierCommand>;
  /** Every codec a stream of this carrier may start with, in the carrier's words, and what that means for us. */
  formats: readonly {
    encoding: string;
    sampleRate: number;
    input: AudioFormat;
    output: AudioFormat;
    /** 16-bit samples come in network byte order. */
    isNetworkOrder?: boolean;
  }[];
}

/** The suite every carrier passes. */
export function carrierConformance(t: Test, carrier: CarrierCase): void {
  const read = async (name: string): Promise<string> =>
    (await readFile(new URL(`${name}.json`, carrier.fixtures), 'utf8')).trim();
  const started = async (): Promise<CarrierAdapter> => {
    const adapter = carrier.create();
    adapter.decode(utf8(await read('received-start')));
    return adapter;
  };

  void t.test('every fixture is covered', async (t) => {
    const files = (await readdir(carrier.fixtures)).map((file) => file.replace('.json', '')).sort();
    t.same(files, [...Object.keys(carrier.received), ...Object.keys(carrier.sent)].sort());
  });

  for (const [name, expected] of Object.entries(carrier.received)) {
    void t.test(`${name} means ${expected?.type ?? 'nothing'}`, async (t) => {
      const adapter = expected?.type === 'started' ? carrier.create() : await started();
      t.same(copy(adapter.decode(utf8(await read(name)))), expected);
    });

    void t.test(
      `${name} means the same with numbers as strings and strings of digits as numbers`,
      async (t) => {
        const adapter = expected?.type === 'started' ? carrier.create() : await started();
        const swapped = JSON.stringify(swapNumbers(JSON.parse(await read(name))));
        t.same(copy(adapter.decode(utf8(swapped))), expected);
      },
    );

    void t.test(`${name} cut short is refused, wherever it is cut`, async (t) => {
      const message = await read(name);
      const adapter = expected?.type === 'started' ? carrier.create() : await started();
      for (let length = 0; length < message.length; length++) {
        try {
          adapter.decode(utf8(message.slice(0, length)));
          t.fail(`taken at ${length}`);
        } catch (error) {
          if (!(error instanceof CarrierProtocolError)) throw error;
        }
      }
    });

    void t.test(
      `${name} with any one value of a wrong type is refused or still means something`,
      async (t) => {
        const message = JSON.parse(await read(name)) as object;
        for (const wrong of [null, true, [], {}, -1.5, 'ü']) {
          for (const mutant of withEachValue(message, wrong)) {
            const adapter = expected?.type === 'started' ? carrier.create() : await started();
            try {
              adapter.decode(utf8(JSON.stringify(mutant)));
            } catch (error) {
              t.type(error, CarrierProtocolError);
            }
          }
        }
      },
    );
  }

  for (const [name, command] of Object.entries(carrier.sent)) {
    void t.test(`${command.type} is sent as ${name}`, async (t) => {
      const adapter = await started();
      t.equal(adapter.encode(command), await read(name));
    });
  }

  void t.test('audio of any length survives both ways', async (t) => {
    const adapter = await started();
    const media = JSON.parse(await read('received-media')) as { media: { payload: string } };
    for (const length of [160, 161, 162, 800, 4000, adapter.maxAudioBytes]) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 7 + length) & 0xff);
      const { media: sent } = JSON.parse(adapter.encode({ type: 'play', bytes })) as typeof media;
      media.media.payload = sent.payload;
      t.same(copy(adapter.decode(utf8(JSON.stringify(media)))), {
        ...carrier.received['received-media'],
        bytes,
      });
    }
  });

  for (const { encoding, sampleRate, input, output, isNetworkOrder } of carrier.formats) {
    void t.test(`${encoding} at ${sampleRate} Hz: 20 ms each way`, async (t) => {
      const start = JSON.parse(await read('received-start')) as {
        start: Record<'mediaFormat' | 'media_format', Record<string, unknown> | undefined>;
      };
      const format = start.start.mediaFormat ?? start.start.media_format!;
      format['encoding'] = encoding;
      format['sampleRate' in format ? 'sampleRate' : 'sample_rate'] = sampleRate;
      const adapter = carrier.create();
      t.match(adapter.decode(utf8(JSON.stringify(start))), { type: 'started' });
      t.same([adapter.inputFormat, adapter.outputFormat], [input, output]);

      const heard = Buffer.from(
        Uint8Array.from({ length: 20 * bytesPerMs(input) }, (_, i) => (i * 13) & 0xff),
      );
      const wire = isNetworkOrder ? Buffer.from(heard).swap16() : heard;
      const media = JSON.parse(await read('received-media')) as { media: { payload: string } };
      media.media.payload = wire.toString('base64');
      for (const space of ['', ' ']) {
        const event = copy(adapter.decode(utf8(space + JSON.stringify(media))));
        t.ok(event?.type === 'audio' && heard.equals(event.bytes), 'on the fast path and off it');
      }

      const said = Uint8Array.from({ length: 20 * bytesPerMs(output) }, (_, i) => (i * 7) & 0xff);
      const sent = JSON.parse(adapter.encode({ type: 'play', bytes: said })) as typeof media;
      t.same(Uint8Array.from(Buffer.from(sent.media.payload, 'base64')), said);
    });
  }

  void t.test('what is played may be a part of a larger buffer', async (t) => {
    const adapter = await started();
    const buffer = Uint8Array.from({ length: 400 }, (_, i) => i & 0xff);
    t.equal(
      adapter.encode({ type: 'play', bytes: buffer.subarray(100, 300) }),
      adapter.encode({ type: 'play', bytes: buffer.slice(100, 300) }),
    );
  });

  void t.test('unknown events and unknown fields are ignored', async (t) => {
    const adapter = await started();
    t.equal(adapter.decode(utf8('{"event":"somethingNew","data":{"a":[1]}}')), undefined);
    const media = JSON.parse(await read('received-media')) as { media: object };
    const more = { later: { nested: [null, 1.5] }, ...media, media: { ...media.media, later: false } };
    t.same(copy(adapter.decode(utf8(JSON.stringify(more)))), carrier.received['received-media']);
  });

  void t.test('the other track is ignored', async (t) => {
    const adapter = await started();
    const media = JSON.parse(await read('received-media')) as { media: object };
    const outbound = { ...media, media: { ...media.media, track: 'outbound' } };
    t.equal(adapter.decode(utf8(JSON.stringify(outbound))), undefined);
  });

  void t.test('media before start is refused as such', async (t) => {
    const adapter = carrier.create();
    const message = utf8(await read('received-media'));
    t.throws(() => adapter.decode(message), { name: 'CarrierProtocolError', code: 'media_before_start' });
  });

  void t.test('a codec we did not ask for is refused as such', async (t) => {
    const start = (await read('received-start')).replace(/"audio\/x-mulaw"|"PCMU"/, '"OPUS"');
    const adapter = carrier.create();
    t.throws(() => adapter.decode(utf8(start)), { name: 'CarrierProtocolError', code: 'codec_not_agreed' });
    const rate = (await read('received-start')).replace(':8000', ':44100');
    t.throws(() => carrier.create().decode(utf8(rate)), { code: 'codec_not_agreed' });
  });

  void t.test('a second start changes nothing', async (t) => {
    const adapter = await started();
    t.equal(adapter.decode(utf8(await read('received-start'))), undefined);
  });

  void t.test('what is no message is refused without repeating it', async (t) => {
    const adapter = await started();
    for (const text of [
      '',
      'secret',
      '[]',
      '"secret"',
      'null',
      '1',
      '{}',
      '{"event":1}',
      '{"event":"media"}',
    ]) {
      const error = errorOf(() => adapter.decode(utf8(text)));
      t.ok(error instanceof CarrierProtocolError, text);
      t.notMatch(String(error), 'secret');
    }
  });

  void t.test('payloads that are no base64 are refused; missing padding is not minded', async (t) => {
    const adapter = await started();
    const media = JSON.parse(await read('received-media')) as { media: { payload: string } };
    const decode = (payload: unknown) =>
      adapter.decode(utf8(JSON.stringify({ ...media, media: { ...media.media, payload } })));
    for (const payload of [
      '//7+/w=',
      '//7+/',
      'ab_d',
      'a b=',
      '=',
      '====',
      'é',
      '//7+/w==//7+/w==',
      7,
      null,
    ]) {
      t.throws(() => decode(payload), { name: 'CarrierProtocolError', code: 'malformed' }, String(payload));
    }
    t.same(copy(decode('//7+/w')), carrier.received['received-media']);
    t.equal(decode(''), undefined, 'no audio at all');
  });

  void t.test('fast path and schema agree on 26,000 generated and mutated messages', async (t) => {
    const adapter = await started();
    const media = JSON.parse(await read('received-media')) as Message;
    const random = seededRandom(20_260_101);
    let audio = 0;
    let refused = 0;
    for (let i = 0; i < 26_000; i++) {
      const text = i % 2 === 0 ? generate(media, random) : mutate(generate(media, random), random);
      const fast = outcome(adapter, utf8(text));
      // White space in front means nothing in JSON, and is nothing the fast path takes.
      const slow = outcome(adapter, utf8(` ${text}`));
      if (fast !== slow) t.equal(fast, slow, text);
      if (slow.includes('audio')) audio++;
      if (slow.startsWith('refused')) refused++;
    }
    t.ok(audio > 8000, `${audio} were audio`);
    t.ok(refused > 2000, `${refused} were refused`);
  });
}

interface Message {
  media: Record<string, unknown>;
  [key: string]: unknown;
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Audio events are used again: keep their contents. */
function copy(event: CarrierEvent | undefined): CarrierEvent | undefined {
  return event?.type === 'audio' ? { ...event, bytes: Uint8Array.from(event.bytes) } : event;
}

function outcome(adapter: CarrierAdapter, message: Uint8Array): string {
  try {
    const event = adapter.decode(message);
    if (event?.type !== 'audio') return JSON.stringify(event ?? null);
    const { bytes, chunk, timestampMs } = event;
    return `audio ${chunk} ${timestampMs} ${Buffer.from(bytes).toString('hex')}`;
  } catch (error) {
    if (!(error instanceof CarrierProtocolError)) throw error;
    return `refused ${error.code}`;
  }
}

function errorOf(task: () => unknown): unknown {
  try {
    task();
  } catch (error) {
    return error;
  }
  return undefined;
}

function swapNumbers(value: unknown, key = ''): unknown {
  if (typeof value === 'number') return String(value);
  // Digits pressed are text by nature, and the auth-like ids never look like numbers.
  if (typeof value === 'string' && /^[1-9]\d{0,14}$/.test(value) && key !== 'version') return Number(value);
  if (Array.isArray(value)) return value.map((item) => swapNumbers(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, swapNumbers(item, name)]));
}

function* withEachValue(message: object, wrong: unknown): Generator<object> {
  for (const [key, value] of Object.entries(message)) {
    yield { ...message, [key]: wrong };
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const inner of withEachValue(value as object, wrong)) yield { ...message, [key]: inner };
    }
  }
}

/** A media message as a carrier might come to write it: other order, other types, more fields, spaces, escapes. */
function generate(media: Message, random: () => number): string {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const payload = Buffer.from(
    Array.from({ length: pick([0, 1, 2, 3, 4, 5, 20, 40]) }, () => Math.floor(random() * 256)),
  ).toString('base64');
  const number = pick([
    0,
    7,
    20,
    160,
    1767323045123,
    '20',
    '0',
    '007',
    '1767323045123',
    '12345678901234567',
    'x',
  ]);
  const inner: [string, unknown][] = Object.entries({ ...media.media, payload });
  if (random() < 0.3) inner.push([pick(['chunk', 'timestamp', 'track', 'payload', 'more']), number]);
  if (random() < 0.2) inner[0] = ['chunk', pick([1.5, -3, null, true, '', '1e3', 5, '5', 1e21])];
  const outer: [string, unknown][] = Object.entries(media).filter(([key]) => key !== 'media');
  if (random() < 0.3)
    outer.push([pick(['extra', 'event', 'extra_headers']), pick(['a"b', 'ü', 'x\\y', 3, 'media', '\u0001'])]);
  if (random() < 0.1) outer.push([pick(['a', 'b']), pick([null, [1], { deep: 1 }, true])]);
  outer.push(['media', inner]);
  shuffle(outer, random);
  if (random() < 0.5) shuffle(inner, random);
  const colon = pick([':', ':', ':', ': ', ' :']);
  const comma = pick([',', ',', ',', ', ', ',\n']);
  // Written by hand, since an object could not say the same key twice.
  const write = (entries: [string, unknown][]): string =>
    `{${entries
      .map(([key, value]) => {
        const text =
          key === 'media' && Array.isArray(value)
            ? write(value as [string, unknown][])
            : JSON.stringify(value);
        return `${JSON.stringify(key)}${colon}${text}`;
      })
      .join(comma)}}`;
  const text = write(outer);
  return random() < 0.05 ? text.replaceAll('/', '\\/') : text;
}

function mutate(text: string, random: () => number): string {
  const at = Math.floor(random() * text.length);
  const piece = '"{}[]:,\\=+/ 0\n1aA\u00fc'.charAt(Math.floor(random() * 18));
  const kind = random();
  if (kind < 0.3) return text.slice(0, at) + text.slice(at + 1);
  if (kind < 0.6) return text.slice(0, at) + piece + text.slice(at + 1);
  if (kind < 0.85) return text.slice(0, at) + piece + text.slice(at);
  return text.slice(0, at) + text.slice(Math.max(0, at - 5));
}

function shuffle(items: unknown[], random: () => number): void {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [items[i], items[j]] = [items[j], items[i]];
  }
}
