import t from 'tap';
import { openBench, openSystem, type Bench } from '../src/bench.ts';
import type { LoadResult } from '../src/load-result.ts';
import { runLoad } from '../src/run-load.ts';
import { parseMix } from '../src/scenario/conversation.ts';
import type { SystemUnderTest } from '../src/sut/system.ts';

/** Invariants only: how fast it goes depends on who else uses the machine. */
const TURNS = 2;

async function load(
  system: 'parley' | 'ceiling',
  options: { calls: number; mix: string; carrier: 'plivo' | 'twilio' },
): Promise<LoadResult> {
  const bench: Bench = await openBench({ turns: TURNS, pin: false, backendProcess: false, redis: false });
  let sut: SystemUnderTest | undefined;
  try {
    sut = await openSystem(bench, { system, gateways: 1, maxCalls: 100, turns: TURNS, profile: false });
    return await runLoad(sut, bench.backend, {
      carrier: options.carrier,
      calls: options.calls,
      turns: TURNS,
      rampPerSecond: 50,
      steadySeconds: 0,
      mix: parseMix(options.mix),
      listeners: options.calls,
      delays: bench.delays,
      speech: bench.speech,
      signal: new AbortController().signal,
    });
  } finally {
    await sut?.[Symbol.asyncDispose]();
    await bench[Symbol.asyncDispose]();
  }
}

// They talk at the same time: most of it is waiting for each other to finish.
const parley = load('parley', { calls: 6, mix: 'talk:2,barge_in:2,backchannel:1,noise:1', carrier: 'plivo' });
const ceiling = load('ceiling', { calls: 3, mix: 'talk', carrier: 'twilio' });
void ceiling.catch(() => undefined);

void t.test(
  'calls through a gateway process: each question gets its one answer, each call one true report',
  async (t) => {
    const result = await parley;
    const { counts } = result;
    t.equal(counts.answered, 6);
    t.equal(counts.refused, 0);
    t.equal(counts.lost, 0);
    t.equal(counts.completed, 6);
    t.equal(counts.missingReplies, 0);
    t.equal(counts.replies, counts.questions);
    t.equal(result.truth.replies, result.truth.expectedReplies, 'exactly one reply per turn was heard');
    t.equal(counts.notStopped, 0, 'the agent stops for who interrupts it');
    t.equal(counts.falseInterruptions, 0, 'and for nothing else');
    t.equal(counts.violations, 0);
    t.equal(result.truth.calls, 6);
    t.same([result.truth.invented, result.truth.forgotten], [0, 0], result.truth.examples.join('\n'));
    t.same(result.reports, { expected: 6, missing: 0, repeated: 0 });
    t.equal(result.backend?.sttOpen, 0, 'nothing is left open');
    t.equal(result.backend?.ttsOpenContexts, 0);
    t.equal(result.backend?.redeemed, 6);
  },
);

void t.test('the instrument finds nothing wrong with a server that makes no mistakes', async (t) => {
  const result = await ceiling;
  t.equal(result.counts.completed, 3);
  t.equal(result.counts.replies, 3 * TURNS);
  t.equal(result.truth.replies, result.truth.expectedReplies);
  t.equal(result.overheadFirst.count + result.overheadLater.count, 3 * TURNS);
});
