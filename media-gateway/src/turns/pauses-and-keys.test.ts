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

void t.test('another agent has its own patience, and a silence goes on', (t) => {
  const settings = (reminder_after_seconds: number, end_call_after_seconds: number) => ({
    ...defaultAgentConfig().silence,
    reminder_after_seconds,
    end_call_after_seconds,
    max_reminders: 2,
    reminder_messages: ['One?'],
  });
  const watch = new SilenceWatch(settings(10, 60));
  t.equal(watch.pass(9000), undefined);
  watch.configure(settings(5, 60));
  t.match(watch.pass(0), { type: 'remind', message: 'One?' });
  t.equal(watch.unanswered, 0, 'there is time for an answer yet');
  t.equal(watch.pass(4999), undefined);
  t.match(watch.pass(1), { type: 'unanswered', count: 1 });
  t.equal(watch.unanswered, 1);
  watch.remindAnew();
  t.equal(watch.unanswered, 0);
  t.notOk(watch.everBroken, 'nobody has said anything');
  t.equal(watch.pass(4999), undefined);
  t.match(watch.pass(1), { type: 'remind' });
  watch.configure(settings(5, 19.001));
  t.equal(watch.pass(0), undefined);
  t.match(watch.pass(1), { type: 'end' }, 'all of the silence counts');
  t.end();
});

void t.test('the settings of another agent hold for an entry that was begun', (t) => {
  const clock = new ManualClock();
  const entries: string[] = [];
  const config = {
    ...defaultAgentConfig().dtmf,
    terminator: '#',
    max_digits: 9,
    inter_digit_timeout_ms: 2000,
  } as const;
  const keys = new DtmfCollector(config, clock, (digits) => void entries.push(digits));
  keys.press('1');
  keys.configure({ ...config, terminator: '*', max_digits: 3 });
  keys.press('#');
  keys.press('*');
  t.same(entries, ['1#']);
  for (const digit of '2345') keys.press(digit);
  t.same(entries, ['1#', '234']);
  keys.close();
  t.equal(clock.pendingTimers, 0);
  t.end();
});

/** Push to talk with an STT that is asked for the rest; each utterance as `text`, with what it has besides. */
function pushToTalk() {
  const clock = new ManualClock();
  const utterances: PushedUtterance[] = [];
  let finalized = 0;
  const pushed = new PushToTalk({
    clock,
    finalize: () => void finalized++,
    onUtterance: (utterance) => void utterances.push(utterance),
  });
  return { clock, pushed, utterances, finalized: () => finalized };
}

void t.test('a tenth of a second is the least utterance', (t) => {
  const { clock, pushed, utterances } = pushToTalk();
  pushed.audio(99);
  t.notOk(pushed.commit());
  pushed.audio(1);
  t.notOk(pushed.committing);
  t.ok(pushed.commit());
  t.ok(pushed.committing);
  clock.advance(2999);
  t.same(utterances, [], 'the STT has three seconds');
  clock.advance(1);
  t.match(utterances, [{ text: '', confidence: undefined, words: [] }], 'nothing was understood');
  t.notOk(pushed.committing);
  pushed.audio(99);
  t.notOk(pushed.commit(), 'audio counts for one utterance');
  t.end();
});

void t.test('an utterance has the words of all its pieces, and the language of the last', (t) => {
  const { pushed, utterances } = pushToTalk();
  const word = (text: string) => ({ text, startMs: 0, endMs: 1 });
  pushed.audio(500);
  pushed.text({ ...said('Tea'), words: [word('Tea')] });
  pushed.text({ ...said('bitte.'), language: 'de', words: [word('bitte')] });
  pushed.commit();
  pushed.text(said(''));
  t.match(utterances, [{ text: 'Tea bitte.', language: 'de', words: [{ text: 'Tea' }, { text: 'bitte' }] }]);
  t.end();
});

void t.test('an empty answer leaves the last guess, a final text takes its place', (t) => {
  const { pushed, utterances } = pushToTalk();
  pushed.audio(500);
  pushed.interim(said('more tea'));
  pushed.commit();
  pushed.text(said(''));
  t.equal(utterances[0]?.text, 'more tea');
  pushed.audio(500);
  pushed.interim(said('no'));
  pushed.text(said('No.'));
  pushed.commit();
  pushed.text(said(''));
  t.equal(utterances[1]?.text, 'No.');
  t.end();
});

void t.test('what was cleared is not heard, though the STT still has it', (t) => {
  const { pushed, utterances, finalized } = pushToTalk();
  pushed.clear();
  t.equal(finalized(), 0, 'nothing was said');
  pushed.audio(500);
  pushed.text(said('Tea.'));
  pushed.clear();
  t.equal(finalized(), 1, 'the STT gives away what it has');
  pushed.text(said('Milk.'));
  pushed.audio(500);
  t.ok(pushed.commit());
  pushed.clear();
  pushed.text(said('Coffee.'));
  t.match(utterances, [{ text: 'Coffee.' }], 'and a commit under way is not cleared');

  pushed.audio(500);
  pushed.commit();
  pushed.respondThen({});
  pushed.reset();
  t.notOk(pushed.committing);
  pushed.audio(500);
  pushed.commit();
  pushed.text(said('Water.'));
  t.equal(utterances[1]?.text, 'Water.');
  t.equal(utterances[1]?.thenRespond, undefined, 'an answer was asked for what is forgotten');
  t.end();
});
