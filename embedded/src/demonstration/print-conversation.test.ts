import { stripVTControlCharacters } from 'node:util';
import t from 'tap';
import type { TurnLatency } from '@parley/shared/contracts/turn';
import type { SessionEvent } from './follow-session.ts';
import { ConversationPrinter } from './print-conversation.ts';

const ANSWERED_AT = Date.parse('2026-01-05T10:00:00.000Z');

/** What is printed of events that were written down so long after the answer. */
function printed(events: { afterMs: number; type: string; data?: object; offsetMs?: number }[]): string[] {
  const lines: string[] = [];
  const printer = new ConversationPrinter((line) => lines.push(stripVTControlCharacters(line)));
  for (const [index, { afterMs, type, data = {}, offsetMs = afterMs }] of events.entries()) {
    const event: SessionEvent = {
      index,
      at: new Date(ANSWERED_AT + afterMs).toISOString(),
      offset_ms: offsetMs,
      type,
      data: { ...data },
    };
    printer.event(event);
  }
  return lines;
}

/** A turn of the agent, from 2 s to 9 s. */
const turn = (text: string, latency?: TurnLatency) => ({
  role: 'agent',
  text,
  start_ms: 2000,
  end_ms: 9000,
  interrupted: false,
  latency,
});

const STARTED = { afterMs: 0, type: 'call_started', data: { encoding: 'pcmu', sample_rate: 8000 } };

void t.test('lines stand in the order of their times', async (t) => {
  const lines = printed([
    { afterMs: -300, type: 'warning', data: { code: 'early' }, offsetMs: 0 },
    STARTED,
    { afterMs: 8100, type: 'turn_decision', data: { action: 'stop', rule: 'voice' } },
    { afterMs: 9500, type: 'turn', data: turn('One moment'), offsetMs: 9000 },
    { afterMs: 9490, type: 'warning', data: { code: 'of_another_clock' } },
    { afterMs: 9600, type: 'interruption', data: { heard_ms: 6100 } },
  ]);
  t.same(
    lines.map((line) => line.slice(0, 8).trim()),
    ['0:00.0', '0:00.0', '0:08.1', '0:09.5', '0:09.5', '0:09.6'],
  );
});

void t.test('the parts of a latency add up to it', async (t) => {
  const cases: [latency: Omit<TurnLatency, 'e2e'> & { e2e: number }, parts: string][] = [
    [
      { e2e: 1609, stt_final: 470, llm_first_token: 510, tts_first_audio: 435, thought_ahead: null },
      'turn end 470 · LLM 510 · voice 435 · other 194',
    ],
    [
      { e2e: 900, stt_final: 500, llm_first_token: 300, tts_first_audio: 200, thought_ahead: 120 },
      'turn end 500 · LLM 300 · voice 200 · thought ahead −120 · other 20',
    ],
    [
      { e2e: 800, stt_final: 500, llm_first_token: 900, tts_first_audio: 200, thought_ahead: null },
      'turn end 500 · LLM 900 · voice 200 · other −800',
    ],
    [
      { e2e: 700, stt_final: 500, llm_first_token: null, tts_first_audio: 200, thought_ahead: null },
      'turn end 500 · voice 200',
    ],
  ];
  for (const [latency, parts] of cases) {
    const [, , line] = printed([STARTED, { afterMs: 9000, type: 'turn', data: turn('Hello.', latency) }]);
    t.equal(line!.trim(), `begun at 0:02.0, ${latency.e2e} ms after the caller stopped · ${parts}`);
    const sum = [...parts.matchAll(/ (−?)(\d+)/g)].reduce(
      (all, [, minus, ms]) => all + Number(`${minus ? '-' : ''}${ms}`),
      0,
    );
    t.equal(sum, latency.e2e);
  }
});
