import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { openOpenAiEmulator } from '@parley/emulators/providers/openai-emulator';
import { parseScript } from '@parley/emulators/providers/openai/script';
import { hasOpenssl, makeCertificate } from '@parley/emulators/server/make-certificate';
import type { DiscardReport } from './fixtures/discard-answers.ts';

/** A process whose event loop says nothing for so long does not turn any more, however busy the machine is. */
const SILENT_MS = 10_000;
const MAX_GROWTH_MB = 200;

void t.test(
  'answers discarded the moment they were asked for do no harm where the server offers HTTP/2',
  { skip: hasOpenssl ? false : 'openssl is not installed' },
  async (t) => {
    const tls = await makeCertificate(t.testdir());
    const emulator = await openOpenAiEmulator({
      script: parseScript({
        rules: [{ when: { user: 'slowly' }, reply: { text: 'word '.repeat(2000) } }],
        fallback: { text: 'Good morning.' },
      }),
      delays: { firstToken: 0, tokensPerSecond: 1000 },
      tls,
    });
    t.teardown(() => emulator[Symbol.asyncDispose]());
    const child = fork(
      fileURLToPath(new URL('fixtures/discard-answers.ts', import.meta.url)),
      [`${emulator.url}/v1`],
      {
        execArgv: ['--disable-warning=ExperimentalWarning'],
        env: { ...process.env, NODE_EXTRA_CA_CERTS: tls.certFile },
      },
    );
    t.teardown(() => child.kill('SIGKILL'));
    let report: Exclude<DiscardReport, { alive: true }> | undefined;
    let watch: NodeJS.Timeout | undefined;
    child.on('message', (message: DiscardReport) => {
      if ('after' in message) report = message;
      clearTimeout(watch);
      watch = setTimeout(() => child.kill('SIGKILL'), SILENT_MS);
    });
    // What it has said last may be read after it is gone.
    const [exit] = await Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
    const [code, signal] = exit as [number | null, NodeJS.Signals | null];
    clearTimeout(watch);
    t.same({ code, signal }, { code: 0, signal: null }, 'its event loop went on turning');
    t.ok(report, 'it came to its end');
    t.equal(report?.before, 'Good morning.');
    t.equal(report?.after, 'Good morning.', 'later answers come');
    t.equal(report?.discarded, 20, 'answers were discarded as they were asked for');
    t.ok(report && report.grownMb < MAX_GROWTH_MB, `it grew by ${report?.grownMb.toFixed(0)} MB`);
    t.ok(emulator.stats.requests > 20);
    t.equal(emulator.stats.http2Requests, 0);
  },
);
