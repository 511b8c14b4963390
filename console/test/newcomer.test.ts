import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Page, Response } from 'playwright-core';
import t from 'tap';
import { launchBrowser } from '@parley/emulators/callers/browser-caller';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { parseWav } from '@parley/shared/audio/wav';
import type { TimedWord } from '@parley/shared/contracts/turn';
import { DataFolder, readRuntime } from '../../embedded/src/data-folder.ts';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { CommandProcess } from '../../embedded/test/fixtures/system/parley-process.ts';
import { temporaryFolder } from '../../embedded/test/fixtures/system/test-platform.ts';
import { skip, watch } from './fixtures/console-browser.ts';

// What a newcomer does first: types the README's command, clicks the link that it prints, and goes on from there. With the
// emulators' real delays, and what one installation has by default: this is the slowest file of all, more than a minute.

t.setTimeout(290_000);

const owned = new DisposableList();
t.teardown(() => owned.dispose());
const run = promisify(execFile);

/** Where the README's pictures are written, when it is set. */
const PICTURES = process.env['PICTURES'];
const SIZE = { width: 1280, height: 840 };
/** As long as a call takes, on a busy machine. */
const CALL_LIMIT_MS = 180_000;

const dataDir = temporaryFolder(owned);
const npm = owned.add(
  new CommandProcess('npm', ['start'], {
    PARLEY_DATA_DIR: dataDir,
    PORT: '0',
    VOICE_MODEL: 'off',
    // On a busy machine.
    MAX_LOOP_DELAY_MS: '0',
    CONTROL_PLANE_TIMEOUT_MS: '20000',
  }),
);

/** @param height of as much of the page as tells the matter */
async function picture(page: Page, name: string, height = SIZE.height): Promise<void> {
  if (PICTURES === undefined) return;
  // What it tells in passing would hide a part of the page.
  await page.locator('.mantine-Notification-root').first().waitFor({ state: 'detached' });
  await mkdir(PICTURES, { recursive: true });
  await page.setViewportSize({ ...SIZE, height });
  await page.mouse.move(0, 0);
  await page.evaluate('scrollTo(0, 0)');
  await writeFile(path.join(PICTURES, `${name}.png`), await page.screenshot());
  await page.setViewportSize(SIZE);
}

/** Keeps what the page plays where the test can ask it, as it was when it began. */
const KEEP_WHAT_PLAYS = `
  const { play } = HTMLMediaElement.prototype;
  HTMLMediaElement.prototype.play = function () {
    window.heard = { from: this.currentTime, audio: this };
    return play.call(this);
  };`;

void t.test('a newcomer sees a call, hears it, changes the agent and publishes it', { skip }, async (t) => {
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const context = await browser.newContext({ viewport: SIZE, colorScheme: 'light', reducedMotion: 'reduce' });
  context.setDefaultTimeout(60_000);
  const problems: string[] = [];
  watch(context, problems);
  await context.addInitScript(KEEP_WHAT_PLAYS);
  const page = await context.newPage();
  await npm.prints(/Open this first +http/);
  const [link] = /http:\S+\/start#code=\S+/.exec(npm.output)!;

  await t.test('the link opens the console, and the call is there while it is held', async () => {
    await page.goto(link);
    await page.getByRole('row', { name: /In progress/ }).click();
    const live = page.getByRole('region', { name: 'Live call' });
    await live.getByText('Hello, my name is Anna Weber').waitFor({ timeout: CALL_LIMIT_MS });
    await live.getByText('book_table').first().waitFor({ timeout: CALL_LIMIT_MS });
    await live.getByText(/Because: /).waitFor();
    await live.getByLabel('Reply time').first().waitFor();
    await picture(page, 'live-call');
  });

  await t.test('a word that is clicked is heard', async (t) => {
    const answers: Response[] = [];
    page.on('response', (response) => {
      if (response.request().method() === 'GET' && /\/transcript\?/.test(response.url()))
        answers.push(response);
    });
    await page
      .getByRole('region', { name: 'Live call' })
      .waitFor({ state: 'detached', timeout: CALL_LIMIT_MS });
    await page.locator('[aria-label=Play]:not([disabled])').waitFor();
    const transcript = page.getByRole('region', { name: 'Transcript' });
    const turn = transcript.locator('article', { hasText: 'live music' }).first();
    await turn.getByText('music').click();
    await eventually('what was said is heard', () =>
      page.evaluate<boolean>('window.heard !== undefined && heard.audio.currentTime > heard.from + 0.5'),
    );
    const from = await page.evaluate<number>('heard.from');
    const [minutes, seconds] = (await turn.getByRole('button').textContent())!.split(':').map(Number);
    const later = from - (minutes! * 60 + seconds!);
    t.ok(later > 4 && later < 20, `not from where the turn begins: ${later} s later`);
    const { items } = (await answers.at(-1)!.json()) as {
      items: { text: string; words: TimedWord[] | null }[];
    };
    const told = items.find(({ text }) => text.includes('live music'))!.words;
    const music = told?.find(({ text }) => text.startsWith('music'));
    t.equal(Math.round(from * 1000), music?.start_ms, 'from where the voice says that the word is');
    await transcript.locator('.lit').first().waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('tabpanel', { name: 'Analysis' }).getByText('Confirm the booking.').waitFor();
    await picture(page, 'call', 900);
  });

  await t.test('the prompt is changed, and kept as a draft', async () => {
    await page.getByRole('link', { name: 'Agents' }).click();
    await page.getByRole('link', { name: 'Lakeside Bistro' }).click();
    const prompt = page.getByRole('textbox', { name: 'System prompt' });
    await prompt.click();
    await page.keyboard.press('Control+End');
    await page.keyboard.insertText(' Offer a table on the terrace when it is warm.');
    await page.getByText('1 unsaved').waitFor();
    await page.getByRole('button', { name: 'More ways to save' }).click();
    await page.getByRole('menuitem', { name: 'Save as a draft' }).click();
    await page.getByRole('button', { name: /Publish v/ }).waitFor();
    await picture(page, 'agent', 800);
  });

  await t.test('the draft is talked to, and a test made of it', async () => {
    await page.getByRole('tab', { name: 'Talk' }).click();
    await page.getByText(/version \d, the newest/).waitFor();
    await page.getByRole('button', { name: 'Type', exact: true }).click();
    await page.locator('[data-who=agent]').getByText('How can I help you?').waitFor();
    await page.getByText('Listening', { exact: true }).waitFor();
    await page.getByLabel('Type to the agent').fill('A table for two on Friday at seven, please');
    await page.keyboard.press('Enter');
    await page.locator('[data-who=agent]').getByText('booked for Friday').waitFor();
    await page.getByText('"reference":"L 42"').waitFor();
    await picture(page, 'talk');
    await page.getByRole('button', { name: 'End', exact: true }).click();
    await page.getByRole('button', { name: 'Save as test' }).click();
    await page.getByLabel('Name').fill('Books a table');
    await page.getByRole('button', { name: 'Make the test' }).click();
    await page.getByText('The test is made').waitFor();
  });

  await t.test('the draft is published', async () => {
    await page.getByRole('tab', { name: 'Tests' }).click();
    await page.getByText('Books a table').waitFor();
    await picture(page, 'tests', 620);
    await page.getByRole('tab', { name: 'Editor' }).click();
    await page.getByRole('button', { name: /Publish v/ }).click();
    await page.getByText('All is published').waitFor();
    await page.getByRole('tab', { name: 'Versions' }).click();
    await page.getByText('Offer a table on the terrace').first().waitFor();
    await picture(page, 'versions', 800);
  });
  t.same(problems, [], 'nothing went wrong in the pages');
});

void t.test('npm start shows a whole call, and all it prints can be used', async (t) => {
  await npm.prints('Parley is running at', CALL_LIMIT_MS);
  const { output } = npm;

  const spoken = (who: string) => output.match(new RegExp(`^ +[0-9:.]+ +${who} +.+$`, 'gm')) ?? [];
  t.ok(spoken('caller').length >= 3, 'three turns of the caller');
  t.ok(spoken('agent').length >= 3);
  t.match(output, /interrupted by the caller after/);
  t.match(output, /tool book_table .*\n/);
  t.match(output, /tool book_table answered/);
  t.match(output, /your reference is/);
  t.match(output, /ended by the agent: agent_hangup/);
  t.match(output, /Call-ended webhook delivered .*signature checked/);
  t.match(output, /customer_name +Anna Weber/);
  const log = await readFile(path.join(dataDir, 'parley.log'), 'utf8');
  t.match(log, /"call ended"/);
  t.notMatch(log, /"level":"(error|fatal)"/);

  const key = /export PARLEY_API_KEY=(\S+)/.exec(output)?.[1] ?? '';
  const commands = output.match(/curl -s .*$/gm) ?? [];
  t.equal(commands.length, 5);
  const folder = temporaryFolder(owned);
  const answers = new Map<string, string>();
  for (const command of commands) {
    const { stdout } = await run('sh', ['-c', command], {
      cwd: folder,
      env: { ...process.env, PARLEY_API_KEY: key },
      encoding: 'utf8',
    });
    answers.set(
      /^ *(\w+) +curl/m.exec(
        output
          .slice(0, output.indexOf(command) + 4)
          .split('\n')
          .at(-1)!,
      )![1]!,
      stdout,
    );
  }
  t.match(JSON.parse(answers.get('session')!), { status: 'ended', hangup_reason: 'agent_hangup' });
  t.match(answers.get('transcript'), /Lakeside Bistro/);
  t.match(answers.get('transcript'), /eight instead of seven/);
  const events = JSON.parse(answers.get('events')!) as { items: { type: string }[] };
  t.ok(events.items.length > 5);
  t.match(JSON.parse(answers.get('webhook')!), { items: [{ status: 'succeeded', attempts: 1 }] });
  t.equal(parseWav(await readFile(`${folder}/call.wav`)).channels, 2);
  const recording = /^ +recording +(\S+)/m.exec(output)![1]!;
  t.same(await readFile(recording), await readFile(`${folder}/call.wav`));

  npm.interrupt();
  // npm ends itself by the signal once its child has ended.
  const { code, signal } = await npm.exited;
  t.ok(code === 0 || signal === 'SIGINT', `${code} ${signal}`);
  t.match(npm.output, /finishing calls and closing/);
  t.notMatch(npm.output, /"level":"(error|fatal)"|^Error/m);
  t.equal(readRuntime(dataDir), undefined);
  // Whatever npm had started has let go of the folder.
  await DataFolder.open(dataDir)[Symbol.asyncDispose]();
});
