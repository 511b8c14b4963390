import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import t from 'tap';
import { DELAYS } from '../src/backend/backend.ts';
import { runLoad } from '../src/run-load.ts';
import { parseMix } from '../src/scenario/conversation.ts';
import { makeCallerSpeech } from '@parley/emulators/speech/caller-speech';

const MB = 2 ** 20;

void t.test(
  'a system that grows without end is reported, and not waited for',
  { skip: existsSync('/proc/self/stat') ? false : 'memory is read from /proc' },
  async (t) => {
    const speech = await makeCallerSpeech([], 'tones');
    // Ten times the limit in a second, and then no more: this test must not do what it looks for.
    const hog = spawn(
      process.execPath,
      [
        '-e',
        `const kept = [];
         const timer = setInterval(() => {
           kept.push(Buffer.alloc(${20 * MB}, 1));
           if (kept.length === 15) clearInterval(timer);
         }, 70);
         setInterval(() => kept, 1000);`,
      ],
      { stdio: 'ignore' },
    );
    t.teardown(() => hog.kill('SIGKILL'));
    const result = await runLoad(
      {
        name: 'a hog',
        pids: [hog.pid!],
        startMs: undefined,
        reports: true,
        // Nobody listens there.
        dial: () => Promise.resolve({ url: 'ws://127.0.0.1:1/', sessionId: 'none' }),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      },
      undefined,
      {
        carrier: 'plivo',
        calls: 2,
        turns: 1,
        rampPerSecond: 10,
        steadySeconds: 3600,
        mix: parseMix('talk'),
        listeners: 0,
        delays: DELAYS,
        speech,
        maxGrowthBytes: 30 * MB,
        signal: new AbortController().signal,
      },
    );
    t.equal(result.blownUp, true);
    t.match(result.notes[0], /GREW TOO LARGE/);
    t.ok(result.counts.refused > 0, 'refused calls are told');
  },
);
