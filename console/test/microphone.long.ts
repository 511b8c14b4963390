import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { launchBrowser } from '@parley/emulators/callers/browser-caller';
import { Resampler } from '@parley/shared/audio/resampler';
import { wavHeader } from '@parley/shared/audio/wav';
import { FLITE_SAMPLE_RATE } from '@parley/shared/speech/flite';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, seriousFaults, skip, watch } from './fixtures/console-browser.ts';
import { signIn } from './fixtures/people.ts';

// Somebody talks to a draft in the page, by a microphone that plays a file: only where somebody asks for it
// (`npm run test:long`).

const RATE = 48_000;
const LINE = 'A table for two people, please.';

t.setTimeout(300_000);

void t.test('a draft is talked to', { skip: skip || (!LONG && 'npm run test:long') }, async (t) => {
  // As an installation has it: what is heard are sounds, some of them voices.
  const opened = await openConsole(t, { VOICE_MODEL: 'on' });
  const { demonstration, platform, problems, project, url } = opened;
  const { agentId, rest } = demonstration;
  const talk = `${url}/projects/${project}/agents/${agentId}/talk`;
  await rest.patch(`/v1/agents/${agentId}`, { greeting: 'Good evening.' });

  await t.test('by microphone, which can be muted', async (t) => {
    await platform.emulators.deepgram!.teach([LINE]);
    const resampler = new Resampler(FLITE_SAMPLE_RATE, RATE);
    const silence = (ms: number) => new Int16Array((RATE * ms) / 1000);
    const spoken = resampler.process(await platform.emulators.speech.synthesize(LINE));
    const data = Buffer.concat(
      [silence(3500), spoken, resampler.flush(), silence(60_000)].map((samples) =>
        Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength),
      ),
    );
    const folder = await mkdtemp(path.join(tmpdir(), 'parley-microphone-'));
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    const wav = path.join(folder, 'person.wav');
    await writeFile(wav, [wavHeader({ sampleRate: RATE, channels: 1, dataBytes: data.length }), data]);
    const browser = await launchBrowser(wav);
    t.teardown(() => browser.close());
    const context = await browser.newContext({
      permissions: ['microphone'],
      viewport: { width: 1440, height: 900 },
      reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(60_000);
    watch(context, problems);
    const { page } = await signIn(opened, OWNER.email, context);
    await page.goto(talk);
    await page.getByRole('button', { name: 'Start talking' }).click();
    const agent = page.locator('[data-who=agent]');
    await agent.getByText('Good evening.').waitFor();
    await page.getByRole('progressbar', { name: 'Your microphone' }).waitFor();
    await page.locator('[data-who=caller]').getByText(LINE).waitFor();
    await agent.getByText('With pleasure.').waitFor();
    await page
      .getByRole('img', { name: /Reply after/ })
      .first()
      .waitFor();
    t.same(await seriousFaults(page), []);
    await page.getByRole('button', { name: 'Mute' }).click();
    t.equal(await page.getByRole('button', { name: 'Unmute' }).getAttribute('aria-pressed'), 'true');
    await page.getByRole('button', { name: 'Unmute' }).click();
    await page.getByRole('button', { name: 'Mute' }).waitFor();
    await page.getByRole('button', { name: 'End', exact: true }).click();
    await page.getByRole('link', { name: 'Open the call' }).click();
    await page.getByRole('region', { name: 'Transcript' }).getByText(LINE).waitFor();
    await page.locator('[aria-label=Play]:not([disabled])').waitFor();
  });

  await t.test('without one, by typing', async (t) => {
    const { page } = await signIn(opened, OWNER.email);
    await page.goto(talk);
    await page.getByRole('button', { name: 'Start talking' }).click();
    await page.getByRole('alert').getByText('does not let this page use the microphone').waitFor();
    await page.locator('[data-who=agent]').getByText('Good evening.').waitFor();
    t.equal(await page.getByRole('button', { name: 'Mute' }).count(), 0);
    await page.getByLabel('Type to the agent').fill('When do you close?');
    await page.keyboard.press('Enter');
    await page.locator('[data-who=agent]').getByText('from noon until eleven').waitFor();
    await page.getByRole('button', { name: 'End', exact: true }).click();
    await page.getByText('You have ended it.').waitFor();
  });

  t.same(problems, [], 'nothing went wrong in the pages');
});
