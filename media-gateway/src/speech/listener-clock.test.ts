import t from 'tap';
import { ListenerClock } from './listener-clock.ts';
import { Speech } from './speech.ts';

const PCMU = { encoding: 'pcmu', sampleRate: 8000 } as const;

/** A speech of 10 s of which everything was sent at once, at time zero. */
function sent() {
  const listener = new ListenerClock(PCMU);
  const speech = new Speech({ onStarted() {}, onFinished() {} });
  speech.sentBytes = 80_000;
  listener.send(80_000, 0);
  /** The far end says at `now` that it has played `ms`. */
  const learn = (ms: number, now: number) => listener.learn(speech, ms * 8, now);
  const heardMs = (now: number) => listener.heardBytes(speech, now) / 8;
  return { listener, speech, learn, heardMs };
}

void t.test('the first mark is believed at once, later ones by a fifth', (t) => {
  const { learn, heardMs } = sent();
  t.equal(heardMs(1000), 1000, 'before any mark');
  learn(900, 1000);
  t.equal(heardMs(2000), 1900);
  learn(1400, 2000); // 600 ms behind
  t.equal(heardMs(3000), 2800, '0.8 × 100 + 0.2 × 600 ms behind');
  learn(3000, 3000);
  t.equal(heardMs(4000), 3840);
  t.end();
});

void t.test('a mark that comes early proves its audio, and no lag', (t) => {
  const { speech, learn, heardMs } = sent();
  learn(1200, 1000);
  speech.provenBytes = 1200 * 8;
  t.equal(heardMs(1000), 1200);
  t.equal(heardMs(1500), 1500);
  t.end();
});

void t.test('what runs dry begins anew', (t) => {
  const listener = new ListenerClock(PCMU);
  t.equal(listener.send(800, 1000), 1000);
  t.equal(listener.lead(1000), 100);
  t.equal(listener.send(800, 1050), undefined);
  t.equal(listener.lead(1050), 150);
  t.equal(listener.send(800, 1200), undefined, 'just in time');
  t.equal(listener.send(800, 1301), 1301);
  t.equal(listener.dryAt, 1401);
  listener.clear();
  t.equal(listener.lead(1301), -Infinity);
  t.equal(listener.send(800, 1301), 1301);
  t.end();
});

void t.test('what is none of the speech keeps the line busy, and nothing of it counts as heard', (t) => {
  const listener = new ListenerClock(PCMU);
  const speech = new Speech({ onStarted() {}, onFinished() {} });
  listener.sendOther(800, 1000);
  t.equal(listener.lead(1000), 100);
  t.notOk(listener.speechPending);
  t.equal(listener.send(800, 1000), 1100, 'the speech is heard behind it');
  speech.sentBytes = 800;
  listener.sendOther(1600, 1000);
  t.equal(listener.lead(1000), 400);
  t.equal(listener.heardBytes(speech, 1150), 400);
  t.equal(listener.heardBytes(speech, 1200), 800);
  t.equal(listener.send(800, 1200), 1400, 'and goes on behind it');
  listener.newSpeech();
  t.notOk(listener.speechPending);
  t.equal(listener.lead(1200), 300);
  t.end();
});
