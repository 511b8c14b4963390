import t from 'tap';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { fakeRealtime, webPlan } from './fakes.ts';

const MESSAGES: object[] = [
  {
    type: 'session.update',
    event_id: 'e1',
    session: {
      type: 'realtime',
      output_modalities: ['audio'],
      tools: [{ type: 'function', name: 'look', description: 'd', parameters: { type: 'object' } }],
      audio: {
        input: {
          format: { type: 'audio/pcm', rate: 24000 },
          turn_detection: { type: 'server_vad', threshold: 0.5 },
        },
        output: { format: { type: 'audio/pcmu' }, voice: 'x' },
      },
    },
  },
  { type: 'session.update', session: { type: 'realtime', audio: { input: { turn_detection: null } } } },
  { type: 'input_audio_buffer.append', audio: Buffer.alloc(960, 7).toString('base64') },
  { type: 'input_audio_buffer.commit', event_id: 'e2' },
  { type: 'input_audio_buffer.clear' },
  {
    type: 'conversation.item.create',
    previous_item_id: 'root',
    item: { id: 'item_1', type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
  },
  { type: 'conversation.item.create', item: { type: 'function_call_output', call_id: 'c', output: '{}' } },
  {
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: [{ type: 'input_audio', audio: 'AAAA' }] },
  },
  { type: 'conversation.item.retrieve', item_id: 'item_1' },
  { type: 'conversation.item.truncate', item_id: 'item_1', content_index: 0, audio_end_ms: 100 },
  { type: 'conversation.item.delete', item_id: 'item_1', event_id: 'e3' },
  {
    type: 'response.create',
    event_id: 'e4',
    response: { output_modalities: ['text'], metadata: { a: 'b' } },
  },
  { type: 'response.cancel', response_id: 'resp_1' },
  { type: 'output_audio_buffer.clear' },
];

const ODD: unknown[] = [
  null,
  true,
  -1,
  1e308,
  0.5,
  '',
  'x'.repeat(5000),
  '\u0000\ud800',
  [],
  {},
  [[[]]],
  { type: 'message' },
  { __proto__: null, constructor: 1 },
  ['text', 'audio'],
];

/** Changes one place of a message: a value, a key, or the text itself. */
function mutate(message: object, random: () => number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const copy = structuredClone(message) as Record<string, unknown>;
  let node: Record<string, unknown> = copy;
  for (;;) {
    const keys = Object.keys(node);
    const key = pick(keys);
    const value = key === undefined ? undefined : node[key];
    if (typeof value === 'object' && value !== null && Object.keys(value).length > 0 && random() < 0.8) {
      node = value as Record<string, unknown>;
      continue;
    }
    const what = random();
    if (key === undefined || what < 0.6) node[key ?? 'added'] = pick(ODD);
    else if (what < 0.8) delete node[key];
    else node[pick(['type', 'item', 'session', 'audio', '__proto__', 'event_id', 'id'])] = pick(ODD);
    break;
  }
  const text = JSON.stringify(copy);
  if (random() < 0.9) return text;
  const at = Math.floor(random() * text.length);
  return pick([
    text.slice(0, at),
    text.slice(0, at) + pick(['"', '}', '\\', '\u0007', ',']) + text.slice(at + 1),
    `[${text}]`,
    text + text,
    '',
  ]);
}

void t.test('no message of a client, however odd, does more than be refused', async (t) => {
  const random = seededRandom(20_261_121);
  let sent = 0;
  let refused = 0;
  let closed = 0;
  const rejections: unknown[] = [];
  const onRejection = (error: unknown) => void rejections.push(error);
  process.on('unhandledRejection', onRejection);
  t.teardown(() => process.off('unhandledRejection', onRejection));
  while (sent < 24_000) {
    const call = fakeRealtime({
      plan: webPlan((plan) => (plan.limits.max_duration_seconds = 7200)),
      early: random() < 0.2 ? [MESSAGES[0]!] : [],
    });
    for (let round = 0; round < 12 && call.closed.length === 0; round++) {
      for (let i = 0; i < 50 && call.closed.length === 0; i++) {
        sent++;
        const message = MESSAGES[Math.floor(random() * MESSAGES.length)]!;
        const text = random() < 0.15 ? JSON.stringify(message) : mutate(message, random);
        call.session.onMessage(Buffer.from(text));
      }
      await call.wait(40, random() < 0.5);
    }
    for (const event of call.of('error')) {
      refused++;
      const error = event['error'] as Record<string, unknown>;
      if (
        event.event_id === undefined ||
        typeof error['type'] !== 'string' ||
        typeof error['code'] !== 'string' ||
        typeof error['message'] !== 'string' ||
        !('param' in error) ||
        !('event_id' in error)
      )
        t.fail('an error event without its fields', { event });
    }
    for (const { code } of call.closed) {
      closed++;
      if (code !== 4400) t.fail(`closed with ${code}`);
    }
    // Whatever was said to it, it ends like any other.
    call.session.onClose(1000);
    await call.call.ended;
    const created = call.of('response.created').length;
    const done = call.of('response.done').length;
    // One that was open when the client had left can't be told any more.
    if (created - done > 1) t.fail(`${created} responses begun, ${done} ended`);
    const ids = call.events.map((event) => event.event_id);
    if (new Set(ids).size !== ids.length) t.fail('an event id was used twice');
  }
  t.ok(sent >= 20_000, `${sent} messages`);
  t.ok(refused > 1000, `${refused} were refused with an error event`);
  t.ok(closed > 10, `${closed} clients sent too many of them, and were closed`);
  t.same(rejections, []);
});

void t.test('what is not even a message of the protocol is named', async (t) => {
  const call = fakeRealtime();
  const cases: [string, string, string | null][] = [
    ['{', 'invalid_json', null],
    ['"text"', 'invalid_event', null],
    ['{"event_id":"x"}', 'invalid_event', 'x'],
    ['{"type":"transcription_session.update","event_id":"x"}', 'invalid_event', 'x'],
    ['{"type":"input_audio_buffer.append","event_id":"x"}', 'invalid_value', 'x'],
    ['{"type":"input_audio_buffer.append","audio":"?","event_id":"x"}', 'invalid_value', 'x'],
    ['{"type":"session.update","event_id":"x"}', 'invalid_value', 'x'],
    [
      '{"type":"conversation.item.create","item":{"type":"message","content":[]},"event_id":"x"}',
      'invalid_value',
      'x',
    ],
  ];
  for (const [text, code, eventId] of cases) {
    const from = call.events.length;
    call.session.onMessage(Buffer.from(text));
    t.match(
      call.of('error', from),
      [{ error: { code, event_id: eventId, type: 'invalid_request_error' } }],
      text,
    );
  }
  t.same(call.closed, [], 'the session goes on');
});

void t.test('audio that comes much faster than it can be heard ends the session', async (t) => {
  const call = fakeRealtime();
  const minute = Buffer.alloc(60 * 48_000).toString('base64');
  for (let i = 0; i < 6; i++) call.send({ type: 'input_audio_buffer.append', audio: minute });
  t.match(call.last('error'), { error: { code: 'rate_limit_exceeded' } });
  t.match(call.closed, [{ code: 1000 }]);
});
