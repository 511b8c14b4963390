import t from 'tap';
import { dtmfTones } from '@parley/shared/audio/dtmf-tones';
import { encodeMulaw } from '@parley/shared/audio/g711';
import type { LlmEvent } from '../providers/llm/llm-provider.ts';
import { fakeCall } from './fakes.ts';

const press = (digits: string): LlmEvent => ({
  type: 'tool_call',
  call: { id: 'c1', name: 'send_dtmf', arguments: JSON.stringify({ digits }) },
});

/** A call whose agent presses keys when it hears a menu. */
async function menu(dtmfOut: 'tones' | 'none') {
  let asked = 0;
  const call = fakeCall({
    dtmfOut,
    llm: () =>
      asked++ === 0
        ? { events: [{ type: 'text', text: 'One second please.' }, press('12#')] }
        : { events: [{ type: 'text', text: 'It is done.' }] },
  });
  await call.wait(1600);
  await call.hears('For a table press one two');
  return call;
}

const result = (call: Awaited<ReturnType<typeof menu>>) =>
  call.events.find(({ type }) => type === 'tool_finished')?.data;

void t.test('rule 37: where a line takes no digits the agent plays their tones', async (t) => {
  const call = await menu('tones');
  await call.wait(600);
  t.equal(result(call), undefined, 'nothing is claimed before the tones have gone out');
  // The menu goes on speaking: it stops no keys.
  await call.wait(800, true);
  call.stt.onInterim({ text: 'or stay on', confidence: 0.9, endMs: undefined, language: undefined });
  await call.wait(1200);
  t.match(result(call), { ok: true });
  t.same(call.events.find(({ type }) => type === 'dtmf')?.data, { direction: 'sent', digits: '12#' });
  await call.wait(1500);
  t.equal(call.texts().at(-1), 'agent: One second please. It is done.');

  const tones = Buffer.from(encodeMulaw(dtmfTones('12#', 8000)));
  const line = Buffer.concat(call.phone.sent);
  const at = line.indexOf(tones);
  t.ok(at > 0, 'the tones are in the audio, whole and once');
  t.equal(line.indexOf(tones, at + 1), -1);
  // What the voice says are samples of 0x20.
  t.ok(
    line.subarray(0, at).includes(0x20) && line.subarray(at + tones.length).includes(0x20),
    'between its words',
  );
});

void t.test('keys that are not offered are not pressed', async (t) => {
  const call = await menu('none');
  await call.wait(2000);
  t.match(result(call), { ok: false, code: 'unknown_tool' });
  t.notOk(call.events.some(({ type }) => type === 'dtmf'));
});

void t.test('keys that the end of the call cuts off were not sent', async (t) => {
  const call = await menu('tones');
  await call.wait(900);
  call.call.end({ ended_by: 'carrier', hangup_reason: 'carrier_hangup' });
  await call.settle();
  t.match(result(call), { ok: false, code: 'not_sent' });
});
