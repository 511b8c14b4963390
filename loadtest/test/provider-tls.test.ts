import t from 'tap';
import { DELAYS } from '../src/backend/backend.ts';
import { openBench, openSystem } from '../src/bench.ts';
import { hasOpenssl } from '@parley/emulators/server/make-certificate';
import { runLoad } from '../src/run-load.ts';
import { parseMix } from '../src/scenario/conversation.ts';

const TURNS = 1;
const CALLS = 2;

void t.test(
  'providers over TLS are reached, and none over HTTP/2 though it is offered',
  { skip: hasOpenssl ? false : 'openssl is not installed' },
  async (t) => {
    const bench = await openBench({
      turns: TURNS,
      pin: false,
      backendProcess: false,
      redis: false,
      providerTls: true,
      delays: { ...DELAYS, tokenMs: 15 },
    });
    t.teardown(() => bench[Symbol.asyncDispose]());
    const sut = await openSystem(bench, {
      system: 'parley',
      gateways: 1,
      maxCalls: 100,
      turns: TURNS,
      profile: false,
    });
    t.teardown(() => sut[Symbol.asyncDispose]());
    const result = await runLoad(sut, bench.backend, {
      carrier: 'telnyx',
      calls: CALLS,
      turns: TURNS,
      rampPerSecond: 50,
      steadySeconds: 0,
      mix: parseMix('talk'),
      listeners: CALLS,
      delays: bench.delays,
      speech: bench.speech,
      signal: new AbortController().signal,
    });
    t.match(bench.backend.addresses, { deepgram: /^https:/, openai: /^https:/, elevenlabs: /^https:/ });
    t.equal(result.counts.completed, CALLS);
    t.equal(result.counts.missingReplies, 0);
    t.same(result.reports, { expected: CALLS, missing: 0, repeated: 0 });
    t.ok(result.backend!.llmRequests >= CALLS * TURNS);
    t.equal(result.backend!.llmHttp2Requests, 0);
    t.equal(result.blownUp, false);
  },
);
