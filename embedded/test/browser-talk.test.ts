import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import t from 'tap';
import { Resampler } from '@parley/shared/audio/resampler';
import { wavHeader } from '@parley/shared/audio/wav';
import { FLITE_SAMPLE_RATE } from '@parley/shared/speech/flite';
import { openDemonstration, openPage, skip } from './fixtures/talk-page.ts';

const RATE = 48_000;
const LINES = { table: 'A table for two people, please.', friday: 'Next Friday at seven.' };

void t.test('a person talks to the agent in a browser, and interrupts it', { skip }, async (t) => {
  const { platform, url, dataDir } = await openDemonstration(t, Object.values(LINES));
  const silence = (ms: number) => new Int16Array((RATE * ms) / 1000);
  const speak = async (text: string) => {
    const resampler = new Resampler(FLITE_SAMPLE_RATE, RATE);
    return [resampler.process(await platform.emulators.speech.synthesize(text)), resampler.flush()];
  };
  const parts = [
    silence(3500),
    ...(await speak(LINES.table)),
    // The answer to that takes four seconds: the next words fall into it.
    silence(2500),
    ...(await speak(LINES.friday)),
    silence(20_000),
  ].map((samples) => Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength));
  const data = Buffer.concat(parts);
  const wav = path.join(dataDir, 'person.wav');
  await writeFile(wav, [wavHeader({ sampleRate: RATE, channels: 1, dataBytes: data.length }), data]);

  const { page, problems } = await openPage(t, { microphone: wav });
  await page.goto(url);
  await page.getByRole('button', { name: 'Start talking' }).click();
  const turns = page.locator('.turn');
  await page.getByText('Good evening.').waitFor();
  await page.getByText(LINES.table).waitFor();
  await page.getByText(/^With pleasure/).waitFor();
  await page.getByText(LINES.friday).waitFor();
  // The demonstration's own tool, run by the gateway.
  await page.getByText(/Your table is booked for Friday at seven/i).waitFor();
  const seen = await Promise.all(
    (await turns.all()).map(async (turn) => ({
      who: await turn.getAttribute('data-who'),
      words: (await turn.locator('.words').textContent()) ?? '',
      cut: (await turn.locator('.cut').allTextContents())[0] ?? null,
      latency: (await turn.locator('.latency').allTextContents())[0] ?? null,
    })),
  );
  t.match(seen.slice(0, 4), [
    { who: 'agent', words: 'Good evening.', cut: null },
    { who: 'caller', words: LINES.table },
    { who: 'agent', words: /^With pleasure/, cut: 'Interrupted by you' },
    { who: 'caller', words: LINES.friday },
  ]);
  t.notMatch(seen[2]!.words, /to come\?$/, 'only what was heard is left of it');
  const latency = /^(\d+) ms: turn end (\d+), model (\d+), voice (\d+), playback (\d+)$/.exec(
    seen[2]!.latency!,
  );
  const [whole, ...steps] = latency!.slice(1).map(Number);
  t.equal(
    steps.reduce((sum, ms) => sum + ms, 0),
    whole,
    `the parts of a latency are the whole of it: ${latency![0]}`,
  );
  t.ok(steps[0]! > 0, 'which begins at the end of the voice');

  await page.getByRole('button', { name: 'Mute' }).click();
  t.equal(await page.getByRole('button', { name: 'Unmute' }).getAttribute('aria-pressed'), 'true');
  await page.getByRole('button', { name: 'End', exact: true }).click();
  await page.getByText('Not connected').waitFor();
  t.same(problems, [], 'nothing went wrong in the page');
});
