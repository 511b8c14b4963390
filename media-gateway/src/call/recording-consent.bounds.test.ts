import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { builtInSentences } from '../speech/built-in-sentences.ts';
import type { CallerWords } from '../turns/caller-turns.ts';
import { CallClock } from './call-clock.ts';
import { PhaseOfCall } from './call-phase.ts';
import { wirePlan } from './fakes.ts';
import { ANSWER_MS, needsConsent, RecordingConsent } from './recording-consent.ts';

const planOf = (mode: 'none' | 'announce' | 'ask', { leg = 0, enabled = true, message = '' } = {}) =>
  wirePlan((plan, config) => {
    plan.leg = leg;
    plan.record.enabled = enabled;
    config.recording.consent = { ...config.recording.consent, mode, message };
  });

function scene(mode: 'announce' | 'ask', options: Parameters<typeof planOf>[1] = {}) {
  const clock = new ManualClock();
  const did: unknown[][] = [];
  let heard: () => void = () => undefined;
  const phase = new PhaseOfCall();
  const consent = new RecordingConsent({
    plan: planOf(mode, options),
    prompt: { render: (text: string) => text } as never,
    clock: new CallClock(clock, clock.now()),
    phase,
    speech: {
      say: (text: string, kind: string, { interruptible }: { interruptible: boolean }) => {
        did.push(['say', text, kind, interruptible]);
        const { promise, resolve } = Promise.withResolvers<void>();
        heard = resolve;
        return { done: promise };
      },
      discardPrepared: () => void did.push(['discard']),
    } as never,
    transcript: { callerTurn: ({ text }: CallerWords) => void did.push(['turn', text]) } as never,
    recorder: { begin: () => void did.push(['record']) },
    emit: (type, data) => void did.push(['emit', type, data]),
  });
  const since = () => did.splice(0);
  const hears = async () => {
    heard();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const words = (text: string, language?: string) => ({ text, language }) as CallerWords;
  const begin = () => consent.begin(() => void did.push(['greet']));
  return { clock, consent, phase, since, hears, words, begin };
}
const EN = builtInSentences('en');
const begun = (mode: string, answer: string) => [
  ['emit', 'recording_consent', { mode, answer }],
  ['record'],
  ['emit', 'recording', { recording_id: 'rec_1', status: 'recording' }],
  ['greet'],
];

void t.test(
  'consent is needed where a call is recorded, again on a later leg only where it is asked for',
  (t) => {
    t.ok(needsConsent(planOf('ask')));
    t.ok(needsConsent(planOf('announce')));
    t.notOk(needsConsent(planOf('none')));
    t.notOk(needsConsent(planOf('ask', { enabled: false })));
    t.ok(needsConsent(planOf('ask', { leg: 1 })));
    t.notOk(needsConsent(planOf('announce', { leg: 1 })));
    t.ok(scene('ask').consent.isDue);
    t.notOk(scene('ask', { leg: 1 }).consent.isDue, 'nobody is asked twice');
    t.end();
  },
);

void t.test('who is told is recorded once they have heard it', async (t) => {
  const { begin, since, hears, consent, words } = scene('announce');
  t.notOk(consent.underWay);
  begin();
  t.ok(consent.underWay);
  t.same(since(), [['say', EN.recordingNotice, 'say', false]]);
  t.notOk(consent.take(words('No.')), 'nothing was asked');
  await hears();
  t.same(since(), begun('announce', 'told'));
  t.notOk(consent.underWay);
  const own = scene('announce', { message: ' We record. ' });
  own.begin();
  t.same(own.since(), [['say', 'We record.', 'say', false]]);
  own.consent.close();
  await own.hears();
  t.same(own.since(), [], 'the call is over');
});

void t.test('a yes begins the recording, a no does not, an unclear answer is asked about once', async (t) => {
  const yes = scene('ask');
  t.notOk(yes.consent.take(yes.words('Yes.')), 'nothing was asked yet');
  yes.begin();
  t.same(yes.since(), [['say', EN.recordingQuestion, 'say', true]]);
  t.ok(yes.consent.take(yes.words('')));
  t.same(yes.since(), [['discard']]);
  t.ok(yes.consent.take(yes.words('Yes.')));
  t.same(yes.since(), [['discard'], ['turn', 'Yes.'], ...begun('ask', 'yes')]);
  const german = scene('ask');
  german.begin();
  german.since();
  german.consent.take(german.words('Ja.', 'de'));
  t.same(german.since().slice(2), begun('ask', 'yes'), 'in the language of the caller');
  const no = scene('ask');
  no.begin();
  no.since();
  no.consent.take(no.words('No.'));
  t.same(no.since().slice(2), [['emit', 'recording_consent', { mode: 'ask', answer: 'no' }], ['greet']]);
  const unclear = scene('ask');
  unclear.begin();
  unclear.since();
  unclear.consent.take(unclear.words('Why?'));
  t.same(unclear.since().at(-1), ['say', EN.recordingQuestion, 'say', true]);
  unclear.consent.take(unclear.words('Why?'));
  t.same(unclear.since().slice(2), [
    ['emit', 'recording_consent', { mode: 'ask', answer: 'unclear' }],
    ['greet'],
  ]);
});

void t.test('who says nothing for eight seconds has not said yes', async (t) => {
  const { begin, since, hears, clock, consent, phase } = scene('ask');
  begin();
  since();
  clock.advance(60_000);
  t.same(since(), [], 'the question is being said');
  await hears();
  clock.advance(ANSWER_MS - 1);
  t.same(since(), []);
  clock.advance(1);
  t.same(since(), [['emit', 'recording_consent', { mode: 'ask', answer: 'silent' }], ['greet']]);
  t.notOk(consent.underWay);
  t.ok(phase);
  const again = scene('ask');
  again.begin();
  await again.hears();
  again.consent.take(again.words('Why?'));
  again.since();
  again.clock.advance(ANSWER_MS);
  t.same(again.since(), [], 'the first question does not count any more');
  await again.hears();
  again.consent.close();
  t.equal(again.clock.pendingTimers, 0);
  const gone = scene('ask');
  gone.begin();
  gone.phase.on('ended');
  gone.consent.take(gone.words('No.'));
  t.notOk(
    gone.since().some(([name]) => name === 'greet'),
    'nobody is greeted who is gone',
  );
});
