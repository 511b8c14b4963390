import t from 'tap';
import { VoiceLevels } from './voice-levels.ts';

/** A second of a voice whose loud syllables have this level. */
function speak(levels: VoiceLevels, loud: number): void {
  for (let window = 0; window < 30; window++) levels.note(window % 5 === 0 ? loud : loud - 8);
}

void t.test('nothing is known at first: every voice that can be heard may be the caller', async (t) => {
  const levels = new VoiceLevels();
  t.equal(levels.near, -52);
  for (let window = 0; window < 5; window++) levels.note(-20);
  levels.learnCaller();
  t.equal(levels.caller, undefined, 'a moment of voice teaches nothing');
});

void t.test('a voice that was nothing is the background: the caller must be nearer', async (t) => {
  const levels = new VoiceLevels();
  speak(levels, -38);
  levels.learnBackground();
  t.equal(levels.background, -38);
  t.equal(levels.near, -32);
});

void t.test('the caller is known by words, and soft syllables still count', async (t) => {
  const levels = new VoiceLevels();
  speak(levels, -20);
  levels.learnCaller();
  t.equal(levels.caller, -20);
  t.equal(levels.near, -32);

  await t.test(
    'a background close to them draws the line higher, never above most of the caller',
    async (t) => {
      speak(levels, -30);
      levels.learnBackground();
      t.equal(levels.near, -26);
      t.ok(levels.apart);
      for (let times = 0; times < 20; times++) {
        speak(levels, -26.5);
        levels.learnBackground();
      }
      t.equal(levels.near, -24);
      t.notOk(levels.apart);
    },
  );

  await t.test('what is as loud as the caller is no background', async (t) => {
    const before = levels.background;
    speak(levels, -22);
    t.ok(levels.likeCaller);
    levels.learnBackground();
    t.equal(levels.background, before);
  });

  await t.test('quiet forgets the background', async (t) => {
    levels.forgetBackground();
    t.equal(levels.near, -32);
  });

  await t.test('a louder caller is believed sooner than a softer one', async (t) => {
    speak(levels, -10);
    levels.learnCaller();
    t.equal(levels.caller, -13);
    speak(levels, -23);
    levels.learnCaller();
    t.equal(levels.caller, -17);
  });
});

void t.test('a background that turns out to be the caller is forgotten', async (t) => {
  const levels = new VoiceLevels();
  speak(levels, -21);
  levels.learnBackground();
  speak(levels, -20);
  levels.learnCaller();
  t.equal(levels.background, undefined);
  t.equal(levels.near, -32);
});
