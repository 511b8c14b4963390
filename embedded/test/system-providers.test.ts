import t, { type Test } from 'tap';
import type { Fault } from '@parley/emulators/server/faults';
import type { OpenAiFault } from '@parley/emulators/providers/openai/completion-stream';
import { sampleOf } from '../../shared/test/fixtures/long.ts';
import { eventually } from './fixtures/system/eventually.ts';
import { openTestPlatform, type TestPlatform } from './fixtures/system/test-platform.ts';

// Each kind of provider fails in its own installation, so that the three can be tried side by side.

t.jobs = 3;
t.setTimeout(120_000);

const QUESTION = 'When do you close?';
const ANSWER = /open every day from noon until eleven in the evening\.$/;

async function open(t: Test): Promise<TestPlatform> {
  const test = await openTestPlatform();
  t.teardown(() => test[Symbol.asyncDispose]());
  await test.platform.emulators.deepgram!.teach([QUESTION]);
  return test;
}

/** A call with one sentence of the caller's, then his hang-up if the call still stands. */
async function talk({ installation }: TestPlatform, fail: () => void, answer?: RegExp) {
  const { session, line } = await installation.call(await installation.agent());
  await installation.converse(line);
  fail();
  await installation.converse(line, QUESTION);
  if (answer) {
    await eventually('the answer', async () => {
      const turns = await installation.transcript(session.session_id);
      return turns.some(({ role, text }) => role === 'agent' && answer.test(text));
    });
  }
  if (line.isOpen) line.hangUp();
  const end = await installation.ended(session.session_id);
  const turns = await installation.transcript(session.session_id);
  const events = await installation.events(session.session_id);
  return {
    end,
    close: await line.closed,
    turns,
    said: (role: string) =>
      turns
        .filter((turn) => turn.role === role)
        .map(({ text }) => text)
        .join(' '),
    codes: events
      .filter(({ type }) => type === 'warning' || type === 'error')
      .map(({ data }) => `${String(data['code'])} ${String(data['fault'])}`),
  };
}

const HELD = { status: 'ended', hangup_reason: 'caller_hangup', failure_reason: null };

/** @param reason as it is reported */
const failed = (reason: string) => ({
  status: 'ended',
  ended_by: 'system',
  hangup_reason: null,
  failure_reason: reason,
});

void t.test('speech to text that fails', { buffered: true }, async (t) => {
  const test = await open(t);
  const { deepgram } = test.platform.emulators;

  for (const kind of sampleOf(t, 'FAULT', ['reset', 'cut'] as const)) {
    await t.test(`${kind} in the middle of a sentence: another connection hears it again`, async (t) => {
      const fail = () => deepgram!.setFaults([{ kind, count: 1, after: 2 }]);
      const call = await talk(test, fail, ANSWER);
      t.match(call.end, HELD);
      t.match(call.said('caller'), /when do you close/i);
      t.match(call.said('agent'), ANSWER);
    });
  }
  await t.test('it falls silent in the middle of a sentence: in the end all of it is heard', async (t) => {
    const fail = () => deepgram!.setFaults([{ kind: 'stall', count: 1, after: 2 }]);
    const call = await talk(test, fail, ANSWER);
    t.match(call.end, HELD);
    t.match(call.said('caller'), /when do.* close/i);
  });
  await t.test('a key that is refused ends the call, which says so', async (t) => {
    deepgram!.setFaults([{ kind: 'refuse', status: 401 }]);
    const call = await talk(test, () => undefined);
    t.match(call.end, failed('stt_error'));
    t.ok(call.codes.includes('stt_error auth'), call.codes.join());
    t.match(call.said('agent'), /sorry/, 'and the caller is told');
  });
});

void t.test('a language model that fails', { buffered: true }, async (t) => {
  const test = await open(t);
  const { openai } = test.platform.emulators;
  const fails = (fault: Fault<OpenAiFault>) => () => openai!.setFaults([fault]);

  await t.test('too many requests, for good: an apology, and the caller may try again', async (t) => {
    const call = await talk(test, fails({ kind: 'rate_limit' }), /sorry/i);
    t.match(call.end, HELD);
    t.ok(call.codes.includes('llm_error rate_limit'), call.codes.join());
    t.match(call.turns.at(-1), { role: 'agent', text: /sorry/i });
  });
  for (const kind of sampleOf(t, 'FAULT', ['stall', 'reset'] as const)) {
    await t.test(`${kind} in the middle of an answer: the caller gets an answer`, async (t) => {
      const call = await talk(test, fails({ kind, count: 1, after: 8 }), /We are open/);
      t.match(call.end, HELD);
    });
  }
  await t.test('a key that is refused ends the call, which says so', async (t) => {
    const call = await talk(test, fails({ kind: 'refuse', status: 401 }));
    t.match(call.end, failed('llm_error'));
    t.ok(call.codes.includes('llm_error auth'), call.codes.join());
    t.match(call.said('caller'), /when do you close/i, 'what was said is kept');
  });
});

void t.test('a voice that fails', { buffered: true }, async (t) => {
  const test = await open(t);
  const { elevenlabs } = test.platform.emulators;

  await t.test('a key that is refused ends the call', async (t) => {
    elevenlabs!.setFaults([{ kind: 'refuse', status: 401 }]);
    const session = await test.installation.newSession(await test.installation.agent());
    const line = await test.installation.line(session);
    t.match(await test.installation.ended(session.session_id), failed('tts_error'));
    await line.closed;
    elevenlabs!.setFaults([]);
  });

  for (const kind of sampleOf(t, 'FAULT', ['stall', 'reset'] as const)) {
    await t.test(`${kind} in the middle of a sentence: the rest is said`, async (t) => {
      const call = await talk(test, () => elevenlabs!.setFaults([{ kind, count: 1, after: 2 }]), ANSWER);
      t.match(call.end, HELD);
      t.match(call.said('agent'), ANSWER);
    });
  }
});
