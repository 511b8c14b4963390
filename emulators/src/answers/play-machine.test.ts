import { performance } from 'node:perf_hooks';
import t from 'tap';
import { encodeMulaw } from '@parley/shared/audio/g711';
import { dtmfTones } from '@parley/shared/audio/dtmf-tones';
import { KeyEar } from '../callers/key-ear.ts';
import { parseAnswer } from './answer-script.ts';
import { machineByNumber, type MachinePart } from './machines.ts';
import { playMachine, type MachineLine } from './play-machine.ts';

/** A line without time: waits end at once, with what `onWait` has made true. */
function lineOf(onWait: (line: { voice(): void; hangUp(): void; press(digits: string): void }) => void) {
  const heard: string[] = [];
  let keys = '';
  const playback = { lastVoiceAt: 0 };
  const state = { isStreaming: true };
  const far = {
    voice: () => void (playback.lastVoiceAt = performance.now() + 1),
    hangUp: () => void (state.isStreaming = false),
    press: (digits: string) => void (keys += digits),
  };
  const line: MachineLine = {
    playback,
    bufferedMs: 0,
    get isStreaming() {
      return state.isStreaming;
    },
    agentHeardWithin: () => false,
    async say(mulaw) {
      heard.push(Buffer.from(mulaw).toString());
      return { firstVoicedAt: 0, lastVoicedAt: 0 };
    },
    pause: async () => state.isStreaming,
    async waitFor(condition) {
      if (!condition()) onWait(far);
      return condition();
    },
  };
  return {
    heard: () => heard.filter((text) => /^[\w ,.]+$/.test(text)),
    play: (parts: readonly MachinePart[]) =>
      playMachine(line, parts, { speak: async (text) => Buffer.from(text), keys: () => keys }),
  };
}

void t.test('numbers say which machine answers', async (t) => {
  t.equal(machineByNumber('+14155550123'), undefined);
  t.equal(machineByNumber('+14155550901'), undefined);
  const kinds = ['920', '923', '927', '930', '931', '940', '949'].map(
    (ending) => machineByNumber(`+14155550${ending}`)?.kind,
  );
  t.same(kinds, ['voicemail', 'voicemail', 'voicemail', 'screening', 'screening', 'ivr', 'ivr']);
});

void t.test('a recorder takes a message, and hangs up behind it', async (t) => {
  const line = lineOf((far) => far.voice());
  t.equal(await line.play(machineByNumber('+14155550920')!.parts), 'done');
  t.same(line.heard(), [
    'You have reached the voicemail of Anna Weber.',
    'Please leave a message after the tone.',
  ]);
});

void t.test('an assistant who is answered brings the person; who says nothing is turned away', async (t) => {
  const { parts } = machineByNumber('+14155550930')!;
  t.equal(await lineOf((far) => far.voice()).play(parts), 'person');
  const silent = lineOf(() => {});
  t.equal(await silent.play(parts), 'done');
  t.equal(silent.heard().at(-1), 'I did not hear you. Goodbye.');
  t.equal(await lineOf((far) => far.hangUp()).play(parts), 'over');
});

void t.test('keys lead through menus; a wrong one, or none, hears the menu again, three times', async (t) => {
  const menu = machineByNumber('+14155550941')!.parts;
  const presses = ['1', '2'];
  t.equal(await lineOf((far) => far.press(presses.shift() ?? '')).play(menu), 'person');
  t.equal(await lineOf((far) => far.press('13')).play(menu), 'person', 'both keys at once');
  const lost = lineOf((far) => far.press('7'));
  t.equal(await lost.play(menu), 'done');
  t.same(lost.heard(), [
    ...Array.from({ length: 3 }, () => ['Welcome to Green Gardens.', 'For English, press one.']).flat(),
    'Goodbye.',
  ]);
  t.equal(await lineOf(() => {}).play([...parseAnswer('[10] {440/50} ~50'), { hangUp: true }]), 'done');
});

void t.test('keys are heard as tones, and nothing else is', async (t) => {
  const keys: string[] = [];
  const ear = new KeyEar((digit) => void keys.push(digit));
  const tones = encodeMulaw(dtmfTones('1590*#D22', 8000));
  for (let at = 0; at < tones.length; at += 333) ear.push(tones.subarray(at, at + 333));
  t.same(keys.join(''), '1590*#D22');
  const one = (hz: number) =>
    Int16Array.from({ length: 4000 }, (_, n) => 8000 * Math.sin((2 * Math.PI * hz * n) / 8000));
  for (const hz of [440, 697, 1209]) ear.push(encodeMulaw(one(hz)));
  ear.push(encodeMulaw(Int16Array.from({ length: 8000 }, (_, n) => ((n * 7919) % 16_001) - 8000)));
  t.equal(keys.length, 9);
});
