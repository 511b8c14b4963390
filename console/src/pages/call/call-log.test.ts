import t from 'tap';
import { wavHeader } from '@parley/shared/audio/wav';
import { analysisFields } from './analysis-fields.ts';
import { eventText } from './event-text.ts';
import { clustered, lanesOf, toolCallsOf } from './lanes.ts';
import { readEvents } from './log-pages.ts';
import { latenciesByTurn, latencyScale, replyLatency } from './reply-latency.ts';
import type { LogEvent, LogTurn } from './session-log.ts';
import { findRows, transcriptRows } from './transcript-rows.ts';
import { mocksOf } from './tool-mocks.ts';
import { loudest, WavPeaks } from './wav-peaks.ts';
import { placeAt, turnAt, wordAt, wordTimes } from './word-times.ts';

let count = 0;
function event(type: string, offset_ms: number, data: Record<string, unknown> = {}): LogEvent {
  const index = ++count;
  return { id: `evt_${index}`, index, at: '2026-01-01T00:00:00.000Z', offset_ms, type, data };
}

function turn(index: number, role: string, text: string, start_ms: number, end_ms: number): LogTurn {
  const rest = { language: null, interrupted: false, node_id: null, redacted: false };
  return { index, role, text, start_ms, end_ms, ...rest };
}

void t.test('a latency is taken apart, and its parts never come to more than the whole', (t) => {
  t.same(
    replyLatency({
      e2e: 900,
      stt_final: 300,
      llm_first_token: 400,
      tts_first_audio: 100,
      thought_ahead: null,
    }),
    {
      total: 900,
      parts: [
        { part: 'turn_end', ms: 300 },
        { part: 'llm', ms: 400 },
        { part: 'voice', ms: 100 },
        { part: 'other', ms: 100 },
      ],
      saved: 0,
    },
  );
  t.same(
    replyLatency({ e2e: 500, stt_final: 300, llm_first_token: 400, tts_first_audio: 100, thought_ahead: 350 })
      ?.parts,
    [
      { part: 'turn_end', ms: 300 },
      { part: 'llm', ms: 50 },
      { part: 'voice', ms: 100 },
      { part: 'other', ms: 50 },
    ],
    'what was thought ahead was not waited for',
  );
  const much = replyLatency({ e2e: 200, stt_final: 300, llm_first_token: 400, tts_first_audio: 5 });
  t.same(much, { total: 200, parts: [{ part: 'turn_end', ms: 200 }], saved: 0 });
  t.equal(replyLatency({ e2e: null, stt_final: null, llm_first_token: 70, tts_first_audio: 30 })?.total, 100);
  for (const nothing of [undefined, null, {}, 'x', { e2e: Number.NaN }]) t.equal(replyLatency(nothing), null);
  t.end();
});

void t.test('latencies belong to turns, and a turn that is told again replaces what was told', (t) => {
  const latency = (e2e: number) => ({ e2e, stt_final: 1, llm_first_token: 1, tts_first_audio: 1 });
  const found = latenciesByTurn([
    event('turn', 0, { turn_index: 1, latency: latency(700) }),
    event('turn', 0, { turn_index: 2 }),
    event('turn', 0, { turn_index: 1, latency: latency(800) }),
    event('turn', 0, { turn_index: 1 }),
  ]);
  t.same(
    [...found].map(([index, { total }]) => [index, total]),
    [[1, 800]],
  );
  t.equal(latencyScale(found.values()), 1000);
  t.equal(latencyScale([{ total: 1501, parts: [], saved: 0 }]), 2000);
  t.end();
});

void t.test('words that were timed keep their times, the others share what is left', (t) => {
  const said = { text: 'Good  evening, Ada!', start_ms: 1000, end_ms: 3000 };
  const words = [
    { text: 'evening', start_ms: 1800, end_ms: 2200 },
    { text: 'Eva', start_ms: 2300, end_ms: 2900 },
  ];
  const shown = wordTimes({ ...said, words });
  t.equal(shown.map(({ text }) => text).join(''), said.text, 'the text is the turn’s, to the last blank');
  t.same(
    shown.map(({ start_ms, end_ms }) => [start_ms, end_ms]),
    [
      [1000, 1800],
      [1800, 2200],
      [2200, 3000],
    ],
  );
  const early = wordTimes({ ...said, words: [{ text: 'good', start_ms: 900, end_ms: 1100 }] });
  t.same(early[0], { text: 'Good  ', start_ms: 900, end_ms: 1100 }, 'also before the turn itself was heard');
  const reckoned = wordTimes(said);
  t.same([reckoned[0]?.start_ms, reckoned.at(-1)?.end_ms], [1000, 3000]);
  t.equal(wordAt(shown, 1900), 1);
  t.equal(wordAt(shown, 999), -1);
  t.equal(wordAt(shown, 3000), -1, 'a word is over at its end');
  t.end();
});

void t.test('the turn that is heard goes on behind a short one within it', (t) => {
  const turns = [
    turn(0, 'agent', 'On Fridays we have live music', 1000, 5000),
    turn(1, 'caller', 'Uh-huh', 2000, 2500),
  ];
  const heard = [999, 1500, 2200, 3000, 6000].map((ms) => turnAt(turns, ms));
  t.same(heard, [-1, 0, 1, 0, 1], 'between turns it is the last that began');
  t.end();
});

void t.test('texts that nobody expects are shown whole', (t) => {
  for (const text of [
    '',
    '   ',
    ' x',
    'x'.repeat(10_000),
    'a '.repeat(10_000),
    '<script>alert(1)</script>',
    'مرحبا\u202eabc',
  ]) {
    const shown = wordTimes({ text, start_ms: 5, end_ms: 3 });
    t.equal(shown.map((word) => word.text).join(''), text);
    t.ok(shown.every(({ start_ms, end_ms }) => start_ms >= 5 && end_ms >= start_ms));
    t.ok(shown.length <= 3000);
  }
  t.equal(placeAt([], 5), -1);
  t.end();
});

void t.test('the outline of a recording is the same however its file is cut', (t) => {
  const samples = new Int16Array(2 * 1000);
  samples[2 * 10] = -16_384;
  samples[2 * 990 + 1] = 32_767;
  const file = Buffer.concat([
    wavHeader({ sampleRate: 8000, channels: 2, dataBytes: samples.byteLength }),
    Buffer.from(samples.buffer),
  ]);
  for (const size of [1, 7, 45, file.length]) {
    const peaks = new WavPeaks({ points: 10, bytes: file.length });
    for (let at = 0; at < file.length; at += size) peaks.add(file.subarray(at, at + size));
    t.equal(peaks.seconds, 0.125);
    const [left, right] = peaks.channels.map((channel) => [...channel].map((one) => Math.round(one * 100)));
    t.same(left, [50, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    t.same(right, [0, 0, 0, 0, 0, 0, 0, 0, 0, 100]);
  }
  t.same([...loudest(new Float32Array([0, -0.5, 0.25, 0]), 2)], [0.5, 0.25]);
  const mono = new WavPeaks({ points: 10, bytes: 100 });
  t.throws(() => mono.add(new Uint8Array(100)), /not a WAV/);
  t.end();
});

void t.test('what happened is put into lanes', (t) => {
  const lanes = lanesOf(
    [
      turn(0, 'agent', 'Hello', 0, 900),
      { ...turn(1, 'agent', 'I can', 2000, 2500), interrupted: true },
      turn(2, 'caller', 'Stop', 2300, 2600),
    ],
    [
      event('turn_decision', 2400, { action: 'interrupt', rule: 'went_on', words: 'stop' }),
      event('interruption', 2450, { heard_ms: 500 }),
      event('dtmf', 3000, { direction: 'received', digit: '#' }),
      event('error', 4000, { code: 'llm_error' }),
      event('flow_node', 1, { node_id: 'start', by: 'start' }),
      event('knowledge', 1500, { mode: 'auto', duration_ms: 200, passages: [] }),
      event('turn', 5, {}),
      event('state', 0, { status: 'ended' }),
    ],
  );
  t.same(
    Object.entries(lanes).map(([lane, marks]) => [lane, marks.length]),
    [
      ['caller', 1],
      ['agent', 2],
      ['decisions', 1],
      ['tools', 1],
      ['keys', 1],
      ['interruptions', 1],
      ['steps', 1],
      ['errors', 1],
    ],
  );
  t.equal(lanes.agent[1]?.tone, 'cut');
  t.match(lanes.tools[0], { start_ms: 1300, end_ms: 1500 });
  t.match(lanes.decisions[0]?.details, [
    { name: 'Because', value: 'The caller went on speaking' },
    { name: 'Heard by then', value: 'stop' },
  ]);
  t.end();
});

void t.test(
  'both ends of a tool call are found, where its id is used twice and where its start was lost',
  (t) => {
    const calls = toolCallsOf([
      event('tool_started', 100, { tool_call_id: 'a', name: 'book', tool_id: 'tol_1', arguments: '{"n":1}' }),
      event('tool_started', 200, { tool_call_id: 'a', name: 'book', tool_id: 'tol_1', arguments: '{"n":2}' }),
      event('tool_finished', 300, { tool_call_id: 'a', ok: true, result: 'one', duration_ms: 200 }),
      event('tool_finished', 400, {
        tool_call_id: 'a',
        ok: false,
        outcome: 'timed_out',
        result: 'two',
        duration_ms: 200,
      }),
      event('tool_finished', 900, {
        tool_call_id: 'b',
        name: 'lost',
        ok: true,
        result: 'x',
        duration_ms: 250,
      }),
      event('tool_started', 950, { tool_call_id: 'c', name: 'slow' }),
    ]);
    t.match(calls, [
      { arguments: '{"n":1}', result: 'one', ok: true, end_ms: 300 },
      { arguments: '{"n":2}', result: 'two', ok: false, outcome: 'timed_out', end_ms: 400 },
      { name: 'lost', start_ms: 650, end_ms: 900 },
      { name: 'slow', end_ms: null, ok: null },
    ]);
    t.end();
  },
);

void t.test('what tools answered is answered again in a test, where it is whole', (t) => {
  const call = (
    tool_call_id: string,
    rest: Record<string, unknown>,
    given: string,
    result: string,
    ok = true,
  ) => [
    event('tool_started', 1, {
      tool_call_id,
      name: 'book',
      tool_id: 'tol_1',
      kind: 'webhook',
      arguments: given,
      ...rest,
    }),
    event('tool_finished', 2, {
      tool_call_id,
      name: 'book',
      tool_id: 'tol_1',
      kind: 'webhook',
      ok,
      result,
      ...rest,
    }),
  ];
  const mocks = mocksOf([
    ...call('a', {}, '{"n":1}', '{"booked":true}'),
    ...call('b', {}, '{"n":1}', '{"cut', true),
    ...call('c', {}, '{"n":1}', '{}', false),
    ...call('d', { tool_id: null }, '{}', '{}'),
    ...call('e', { kind: 'mcp' }, '{}', '{}'),
    ...call('f', {}, '[1]', '{}'),
  ]);
  t.same(mocks, [
    { tool_id: 'tol_1', function: null, error: null, match: { n: 1 }, result: { booked: true } },
  ]);
  t.end();
});

void t.test(
  'marks that lie on one another are joined, so that a long call has no more than there is room for',
  (t) => {
    const marks = Array.from({ length: 10_000 }, (_, at) => ({
      ...{ id: String(at), title: '', tone: 'normal' as const, details: [] },
      ...{ start_ms: at * 10, end_ms: at * 10 },
    }));
    const clusters = clustered(marks, 1000);
    t.equal(clusters.length, 100);
    t.equal(
      clusters.reduce((sum, cluster) => sum + cluster.marks.length, 0),
      10_000,
    );
    t.same(clustered([], 5), []);
    t.end();
  },
);

void t.test('a transcript has turns, tools and steps in order, and decisions on request', (t) => {
  const turns = [
    turn(0, 'agent', 'Hello <b>there</b>', 0, 900),
    turn(1, 'caller', 'Book a table', 1000, 2000),
  ];
  const events = [
    event('turn_decision', 2100, { action: 'answer', rule: 'turn_over' }),
    event('tool_started', 2200, { tool_call_id: 'a', name: 'book_table', arguments: '{}' }),
    event('dtmf', 1500, { direction: 'received', digit: '1' }),
    event('dtmf', 1600, { direction: 'entry', digits: '1#' }),
    event('transfer', 3000, { transfer_id: 'x', phase: 'failed', code: 'busy' }),
  ];
  const rows = transcriptRows(turns, events);
  t.same(
    rows.map((row) => (row.kind === 'event' ? row.title : row.key.slice(0, 3))),
    ['t0', 't1', 'Caller entered 1#', 'evt', 'Transfer failed'],
  );
  t.equal(transcriptRows(turns, events, { decisions: true }).length, 6);
  t.same(findRows(rows, 'TABLE book'), [1, 3]);
  t.same(findRows(rows, '<b>'), [0]);
  t.same(findRows(rows, ' '), []);
  t.end();
});

void t.test('events of types that are not known yet are shown as they came', (t) => {
  t.same(eventText({ type: 'brand_new', data: { a_b: 1, c: { d: 2 } } }), {
    title: 'Brand new',
    tone: 'normal',
    details: [
      { name: 'A b', value: '1' },
      { name: 'C', value: '{"d":2}' },
    ],
  });
  for (const type of [
    'turn_decision',
    'dtmf',
    'knowledge',
    'transfer',
    'handover',
    'webhook',
    'state',
    'tool_confirmation',
  ])
    t.type(eventText({ type, data: {} }).title, 'string');
  t.end();
});

void t.test('an analysis is flattened, and evidence of a list counts for what it holds', (t) => {
  const fields = analysisFields(
    { happy: true, items: [{ name: 'Pizza', price: null }], empty: [], __proto__x: 'a' },
    { '$.happy': [3], '$.items[0]': [1, 2], '$.items[0].name': [2] },
  );
  t.same(
    fields.map(({ label, value, turns }) => [label, value, turns]),
    [
      ['happy', 'Yes', [3]],
      ['items 1 › name', 'Pizza', [2]],
      ['items 1 › price', '–', [1, 2]],
      ['empty', '[]', []],
      ['__proto__x', 'a', []],
    ],
  );
  t.end();
});

void t.test('events are read to the end, and later only what is new', async (t) => {
  const all = Array.from({ length: 450 }, (_, at) => event('turn', at));
  const asked: (number | undefined)[] = [];
  const load = (after: number | undefined) => {
    asked.push(after);
    return Promise.resolve(all.filter(({ index }) => index > (after ?? -1)).slice(0, 200));
  };
  const first = await readEvents([], load);
  t.equal(first.length, 450);
  t.equal(asked.length, 3);
  const more = event('turn', 451);
  all.push(more);
  const second = await readEvents(first, load);
  t.equal(second.at(-1), more);
  t.equal(asked.at(-1), all[449]!.index);
  t.equal(await readEvents(second, load), second, 'nothing new: the same list');
});
