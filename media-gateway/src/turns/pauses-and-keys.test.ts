import t from 'tap';
import { defaultAgentConfig } from '@parley/shared/contracts/agent-config';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { SttTranscript } from '../providers/stt/stt-provider.ts';
import { DtmfCollector } from './dtmf-collector.ts';
import { PushToTalk, type PushedUtterance } from './push-to-talk.ts';
import { SilenceWatch } from './silence-watch.ts';

const said = (text: string, confidence = 0.9): SttTranscript => ({
  text,
  confidence,
  endMs: undefined,
  language: 'en',
});

void t.test('silence reminds in turn, as often as it may, and ends the call', (t) => {
  const watch = new SilenceWatch({
    ...defaultAgentConfig().silence,
    reminder_after_seconds: 5,
    max_reminders: 3,
    reminder_messages: ['One?', 'Two?'],
    end_call_after_seconds: 30,
  });
  const unanswered: number[] = [];
  const steps = (ms: number) => {
    const found: string[] = [];
    for (let passed = 20; passed <= ms; passed += 20) {
      let step = watch.pass(20);
      if (step?.type === 'unanswered') {
        unanswered.push(step.count);
        step = watch.pass(0);
      }
      if (step) found.push(`${passed} ${step.type === 'remind' ? step.message : 'end'}`);
      if (step?.type === 'end') return found;
    }
    return found;
  };
  t.notOk(watch.everBroken);
  t.same(steps(40_000), ['5000 One?', '10000 Two?', '15000 One?', '30000 end']);
  t.same(unanswered, [1, 2, 3], 'the last one too');
  watch.broken();
  t.ok(watch.everBroken);
  t.same(steps(4980), []);
  t.same(steps(20), ['20 One?'], 'counted anew');
  watch.broken();
  t.same(steps(40_000), ['5000 One?', '10000 Two?', '15000 One?', '30000 end']);
  const silent = new SilenceWatch({
    ...defaultAgentConfig().silence,
    reminder_messages: [],
    max_reminders: 1,
  });
  let step = silent.pass(20);
  while (!step) step = silent.pass(20);
  t.same(step, { type: 'remind', message: undefined }, 'without a text the model thinks of one');
  t.end();
});

void t.test('keys make entries by terminator, length, or pause', (t) => {
  const clock = new ManualClock();
  const entries: string[] = [];
  const config = {
    ...defaultAgentConfig().dtmf,
    terminator: '#',
    max_digits: 4,
    inter_digit_timeout_ms: 2000,
  } as const;
  const keys = new DtmfCollector(config, clock, (digits) => void entries.push(digits));
  const press = (digits: string) => {
    for (const digit of digits) keys.press(digit);
  };
  press('12#');
  press('#');
  press('12345');
  t.same(entries, ['12', '#', '1234']);
  clock.advance(1999);
  press('6');
  clock.advance(1999);
  t.equal(entries.length, 3, 'each key begins the pause anew');
  clock.advance(1);
  t.same(entries.slice(3), ['56']);
  press('7');
  keys.close();
  clock.advance(5000);
  press('8#');
  t.same(entries.slice(4), ['8'], 'what was dropped does not come back');
  t.end();
});

void t.test('what is pushed is one utterance, with the answer that was asked for', (t) => {
  const clock = new ManualClock();
  const utterances: PushedUtterance[] = [];
  let finalized = 0;
  const pushed = new PushToTalk({
    clock,
    finalize: () => void finalized++,
    onUtterance: (utterance) => void utterances.push(utterance),
  });
  t.notOk(pushed.commit(), 'nothing was said');
  pushed.audio(1000);
  pushed.interim(said('I want'));
  pushed.text(said('I want tea.', 0.7));
  pushed.interim(said('and'));
  t.ok(pushed.commit());
  t.notOk(pushed.commit(), 'once');
  t.equal(finalized, 1);
  pushed.respondThen({ textOnly: true });
  pushed.text(said('and milk.', 0.8));
  t.match(utterances, [{ text: 'I want tea. and milk.', confidence: 0.8, thenRespond: { textOnly: true } }]);
  t.equal(clock.pendingTimers, 0);

  pushed.audio(1000);
  pushed.interim(said('more tea'));
  t.ok(pushed.commit());
  clock.advance(60_000);
  t.match(utterances[1], { text: 'more tea' }, 'an STT that does not answer is not waited for');
  t.equal(utterances[1]!.thenRespond, undefined, 'asked for once');
  t.end();
});
