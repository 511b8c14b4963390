import { once } from 'node:events';
import t from 'tap';
import type { Test } from 'tap';
import { openStubPlatform, TONE, type StubSocket } from '../../test/fixtures/stub-platform.ts';
import { runCaller } from './caller-script.ts';
import { isVoiced } from '../carriers/agent-playback.ts';
import { CarrierLine } from './carrier-line.ts';

const FAST = { agentPauseMs: 100, agentTimeoutMs: 5000 };
const tone = (ms: number) => Buffer.concat(Array.from({ length: ms / 20 }, () => TONE));

async function open(t: Test): Promise<{ line: CarrierLine; agent: StubSocket }> {
  const platform = await openStubPlatform(() => 404);
  const line = await CarrierLine.open({
    url: platform.wsUrl,
    carrier: 'plivo',
    ids: { callId: 'c', streamId: 's', accountId: 'a', from: '', to: '', sequence: 0 },
  });
  t.teardown(async () => {
    line.vanish();
    await platform[Symbol.asyncDispose]();
  });
  return { line, agent: await platform.stream() };
}

/** The agent says something; `name` comes back when it was heard. */
function speak(agent: StubSocket, ms: number, name: string): void {
  const payload = tone(ms).toString('base64');
  agent.send({ event: 'playAudio', media: { contentType: 'audio/x-mulaw', sampleRate: 8000, payload } });
  agent.send({ event: 'checkpoint', streamId: 's', name });
}

/** What the agent's side received, in order: the caller's voice is one entry, however long it is. */
function received(agent: StubSocket): string[] {
  const order: string[] = [];
  for (const message of agent.messages) {
    const media = message['media'] as { payload: string } | undefined;
    const entry = media
      ? isVoiced(Buffer.from(media.payload, 'base64'))
        ? 'voice'
        : 'silence'
      : String(
          message['name'] ?? (message['dtmf'] as { digit: string } | undefined)?.digit ?? message['event'],
        );
    if (order.at(-1) !== entry) order.push(entry);
  }
  return order.filter((entry) => entry !== 'silence');
}

void t.test('a caller lets the agent finish, speaks, listens, presses keys and hangs up', async (t) => {
  const { line, agent } = await open(t);
  const over = once(agent.socket, 'close');
  const done = runCaller(
    line,
    [
      { say: tone(100), label: 'question' },
      { listen: true },
      { press: '12' },
      { pauseMs: 20 },
      { hangUp: true },
    ],
    { ...FAST, onStep: (step) => 'say' in step && setImmediate(() => speak(agent, 200, 'answer')) },
  );
  speak(agent, 200, 'greeting');
  await line.waitFor(() => received(agent).includes('2'), 10_000);
  speak(agent, 60, 'goodbye');
  t.equal(await done, 5);
  await over;
  t.same(
    received(agent).filter((entry) => entry !== 'answer'),
    ['start', 'greeting', 'voice', '1', '2', 'goodbye'],
  );
  t.notOk(line.isStreaming);
});

void t.test('an interruption is said while the agent speaks', async (t) => {
  const { line, agent } = await open(t);
  const done = runCaller(line, [{ interrupt: tone(100), afterMs: 100, label: 'wait' }], FAST);
  speak(agent, 20_000, 'greeting');
  t.equal(await done, 1);
  t.same(received(agent), ['start', 'voice'], 'the greeting is not over');
});

void t.test('a caller stops where the line is closed', async (t) => {
  const { line, agent } = await open(t);
  const done = runCaller(line, [{ press: '1' }, { say: tone(100), label: 'too late' }], {
    ...FAST,
    onStep: () => agent.socket.close(1000),
  });
  speak(agent, 60, 'greeting');
  t.equal(await done, 1);
  await line.closed;
});
