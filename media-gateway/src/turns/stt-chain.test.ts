import t from 'tap';
import { ProviderError } from '@parley/shared/errors/provider-error';
import type { SttListener, SttOptions, SttProvider } from '../providers/stt/stt-provider.ts';
import { SttChain } from './stt-chain.ts';

interface Heard {
  name: string;
  options: SttOptions;
  listener: SttListener;
  written: { bytes: number; mayWait: boolean }[];
  finalized: number;
  closed: number;
}

/** A chain of STTs that are told what to hear. */
function chainOf(...names: string[]) {
  const opened: Heard[] = [];
  const told: unknown[][] = [];
  const provider = (name: string) => (): SttProvider =>
    ({
      model: name,
      open(options: SttOptions, listener: SttListener) {
        const heard: Heard = { name, options, listener, written: [], finalized: 0, closed: 0 };
        opened.push(heard);
        return {
          write: (bytes: Uint8Array, mayWait: boolean) =>
            void heard.written.push({ bytes: bytes.length, mayWait }),
          finalize: () => void heard.finalized++,
          [Symbol.asyncDispose]: () => Promise.resolve(void heard.closed++),
        };
      },
    }) as unknown as SttProvider;
  const note =
    (type: string) =>
    (...values: unknown[]) =>
      void told.push([type, ...values]);
  const chain = new SttChain({
    providers: names.map(provider),
    options: () => ({ format: { encoding: 'pcmu', sampleRate: 8000 } }) as SttOptions,
    events: {
      onSpeechStarted: note('speech'),
      onInterim: note('interim'),
      onTurnEnd: note('turn_end'),
      onEagerTurnEnd: note('eager_end'),
      onTurnResumed: note('resumed'),
      onTrouble: note('trouble'),
      onLost: note('lost'),
    },
  });
  return { chain, opened, told, provider };
}

const failure = new ProviderError('some', 'timeout', 'It does not answer.');

void t.test('each STT stands in for the one before, until the last has failed', async (t) => {
  const { chain, opened, told } = chainOf('first', 'second');
  chain.write(new Uint8Array(160), false, 0);
  chain.finalize();
  t.ok(chain.open(), 'audio may come before');
  t.equal(chain.model as unknown, 'first');
  chain.write(new Uint8Array(160), true, 0);
  opened[0]!.listener.onFailed(failure);
  t.same(told, [['trouble', failure]]);
  t.equal(opened[0]!.closed, 1);
  t.equal(chain.model as unknown, 'second');
  t.notOk(chain.lost);
  chain.write(new Uint8Array(80), false, 20);
  chain.finalize();
  t.same(opened[0]!.written, [{ bytes: 160, mayWait: true }]);
  t.same(opened[1]!.written, [{ bytes: 80, mayWait: false }]);
  t.same([opened[0]!.finalized, opened[1]!.finalized], [0, 1]);

  opened[1]!.listener.onFailed(failure);
  t.same(told.slice(1), [
    ['trouble', failure],
    ['lost', failure],
  ]);
  t.ok(chain.lost);
  t.equal(chain.model as unknown, 'second', 'which heard last');
  chain.write(new Uint8Array(80), false, 40);
  t.equal(opened[1]!.written.length, 1, 'nobody hears any more');
});

void t.test('words are told where they stand in the call', async (t) => {
  const { chain, opened, told } = chainOf('first');
  chain.open();
  // Two stretches of 100 ms, five seconds apart.
  chain.write(new Uint8Array(800), false, 1000);
  chain.write(new Uint8Array(800), false, 6000);
  const transcript = {
    text: 'a b',
    confidence: 1,
    endMs: 200,
    language: 'en',
    words: [
      { text: 'a', startMs: 10, endMs: 100 },
      { text: 'b', startMs: 100, endMs: 150 },
    ],
  };
  const placed = [
    { text: 'a', startMs: 1010, endMs: 1100 },
    { text: 'b', startMs: 6000, endMs: 6050 },
  ];
  const { listener } = opened[0]!;
  listener.onInterim(transcript);
  listener.onTurnEnd(transcript);
  listener.onEagerTurnEnd?.(transcript);
  for (const [at, type] of ['interim', 'turn_end', 'eager_end'].entries())
    t.same(told[at], [type, { ...transcript, words: placed }]);
  const { words: _, ...plain } = transcript;
  listener.onTurnEnd(plain);
  t.same(told[3], ['turn_end', plain], 'or not at all');
  listener.onSpeechStarted(0);
  listener.onTurnResumed?.();
  t.same(
    told.slice(4).map(([type]) => type),
    ['speech', 'resumed'],
  );
});

void t.test('others take the place of all, and only where somebody listens', async (t) => {
  const { chain, opened, told, provider } = chainOf('first');
  chain.replace([provider('early')]);
  t.equal(opened.length, 0);
  chain.open();
  t.equal(opened[0]?.name, 'early');
  opened[0]!.listener.onFailed(failure);
  t.ok(chain.lost);
  chain.replace([provider('other'), provider('its stand-in')]);
  t.notOk(chain.lost);
  t.equal(opened[1]?.name, 'other');
  chain.replace([provider('third')]);
  t.equal(opened[1]!.closed, 1);
  chain.write(new Uint8Array(8), false, 0);
  t.equal(opened[2]!.written.length, 1);

  await chain[Symbol.asyncDispose]();
  t.equal(opened[2]!.closed, 1);
  told.length = 0;
  opened[2]!.listener.onFailed(failure);
  t.same(told, [], 'what fails as it is closed is no trouble');
  t.equal(opened.length, 3);
});
