import t from 'tap';
import { Doubt, EVIDENCE, evidenceName, evidenceOf } from './voice-evidence.ts';

void t.test('a near voice is more evidence the longer it lasts', async (t) => {
  const named = [32, 64, 96, 128, 192, 224, 5000].map((ms) => evidenceName(evidenceOf(ms)));
  t.same(named, [undefined, 'voice', 'voice', 'near_voice', 'near_voice', 'lasting_voice', 'lasting_voice']);
});

void t.test('what is asked for grows with noise and with each mistake, and falls with quiet', async (t) => {
  const doubt = new Doubt();
  t.equal(doubt.demand, EVIDENCE.sound, 'in quiet a sound is enough');

  doubt.noise(240);
  t.equal(doubt.demand, EVIDENCE.sound, 'a little noise is nothing');
  doubt.noise(20);
  t.equal(doubt.demand, EVIDENCE.voice);
  doubt.mistake();
  t.equal(doubt.demand, EVIDENCE.near_voice);
  doubt.mistake();
  doubt.mistake();
  t.equal(doubt.demand, EVIDENCE.lasting_voice);

  const quiet = (ms: number) => {
    let forgotten = false;
    for (let passed = 0; passed < ms; passed += 20) forgotten = doubt.pause(20) || forgotten;
    return forgotten;
  };
  quiet(580);
  for (let word = 0; word < 100; word++) {
    doubt.loud();
    quiet(500);
  }
  t.equal(doubt.demand, EVIDENCE.lasting_voice, 'pauses between words are not quiet');
  t.equal(quiet(8600), false);
  t.equal(doubt.demand, EVIDENCE.near_voice);
  t.equal(quiet(8000), true, 'the noise is forgotten, too');
  t.equal(doubt.demand, EVIDENCE.sound);
});

void t.test('mistakes are forgiven once it is known what led to them', async (t) => {
  const doubt = new Doubt();
  doubt.mistake();
  doubt.mistake();
  doubt.forgive();
  t.equal(doubt.demand, EVIDENCE.voice, 'the noise is still there');
});
