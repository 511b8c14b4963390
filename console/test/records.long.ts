import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import t from 'tap';
import { wavHeader } from '@parley/shared/audio/wav';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, settle, skip } from './fixtures/console-browser.ts';
import { drop } from './fixtures/drop.ts';
import { signIn } from './fixtures/people.ts';
import { holdTypedCall } from './fixtures/typed-call.ts';

// What is made, changed, dropped, heard and sent again in the console, as a person does it: only where somebody asks for it
// (`npm run test:long`).

/** What somebody may call a thing who wants to break the page. */
const HOSTILE = '<script>alert(1)</script> \u202egnirts 👩‍👩‍👧‍👦 =cmd';

const run = promisify(execFile);

t.setTimeout(900_000);

void t.test(
  'records are made, changed and used in the page',
  { skip: skip || (!LONG && 'npm run test:long') },
  async (t) => {
    const opened = await openConsole(t);
    const { demonstration, problems, project, url } = opened;
    const { agentId, rest } = demonstration;
    const { page } = await signIn(opened, OWNER.email);
    const open = async (path: string) => {
      await page.goto(`${url}/projects/${project}/${path}`);
      await settle(page);
    };
    const drawer = page.getByRole('dialog');
    /** Deletes the record that is open. */
    const remove = async (name: string) => {
      await drawer.getByRole('button', { name: 'Delete' }).click();
      await page
        .getByRole('dialog', { name: `Delete ${name}` })
        .getByRole('button', { name: 'Delete' })
        .click();
      await page.getByRole('button', { name, exact: true }).waitFor({ state: 'detached' });
    };

    await t.test('a tool, by keyboard alone', async (t) => {
      await open('tools');
      await page.getByRole('button', { name: 'New' }).first().press('Enter');
      await drawer.getByRole('textbox', { name: 'Name' }).fill('look up an order');
      await drawer.getByRole('textbox', { name: 'Name' }).press('Enter');
      await drawer.getByText('must be a function name').waitFor();
      await drawer.getByRole('textbox', { name: 'Name' }).fill('look_up_order');
      await drawer.getByRole('textbox', { name: 'Description' }).first().fill(HOSTILE);
      await drawer.getByRole('textbox', { name: 'Url' }).fill('https://orders.example.test/look-up');
      await drawer.getByRole('button', { name: 'Create' }).press('Enter');
      await page.getByRole('button', { name: 'look_up_order' }).press('Enter');
      await drawer.getByRole('button', { name: 'Save' }).waitFor();
      await drawer.getByRole('textbox', { name: 'Description' }).first().fill('Looks an order up.');
      await drawer.getByRole('button', { name: 'Save' }).press('Enter');
      await drawer.getByRole('button', { name: 'Save' }).and(page.locator(':disabled')).waitFor();
      t.match(page.url(), /record=/, 'the address names what is open');
      await remove('look_up_order');
    });

    await t.test('documents are dropped, and answer a question', async (t) => {
      await open('knowledge-bases');
      await page.getByText('Nothing here yet').waitFor();
      await page.getByRole('button', { name: 'New' }).first().click();
      await drawer.getByRole('textbox', { name: 'Name' }).fill(HOSTILE);
      await drawer.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('button', { name: HOSTILE }).click();
      await drop(page, drawer.getByText('Drop documents here'), {
        name: `${HOSTILE.replaceAll('/', ' ')}.txt`,
        type: 'text/plain',
        content: Buffer.from('The kitchen closes at ten in the evening.'),
      });
      await drawer.getByText('Ready', { exact: true }).first().waitFor();
      await drawer.getByLabel('Test question').fill('When does the kitchen close?');
      await page.keyboard.press('Enter');
      await drawer.getByText('closes at ten').waitFor();
      await drawer.getByText(/\.txt · score \d\.\d\d/).waitFor();
      t.equal(await page.locator('[role=dialog] script').count(), 0);
      await drop(page, drawer.getByText('Drop documents here'), {
        name: 'menu.pdf',
        type: 'application/pdf',
        content: Buffer.from('%PDF-1.7 and then nothing that can be read'),
      });
      const broken = drawer.getByRole('row', { name: /menu\.pdf/ });
      await broken.getByText('Failed').waitFor();
      const readAgain = page.waitForResponse((response) => response.url().endsWith('/reprocess'));
      await broken.getByRole('button', { name: 'Read again' }).click();
      t.equal((await readAgain).status(), 202);
      await broken.getByText('Failed').waitFor();
      await broken.getByRole('button', { name: 'Remove' }).click();
      await page
        .getByRole('dialog', { name: 'Remove menu.pdf?' })
        .getByRole('button', { name: 'Remove' })
        .click();
      await broken.waitFor({ state: 'detached' });
      await drawer.getByText('Ready', { exact: true }).first().waitFor();
      await remove(HOSTILE);
    });

    await t.test('the command of what was done does the same', async (t) => {
      await open('knowledge-bases');
      await page.getByRole('button', { name: 'New' }).first().click();
      await drawer.getByRole('textbox', { name: 'Name' }).fill("The chef's hours");
      await drawer.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('button', { name: "The chef's hours" }).waitFor();
      await page.getByRole('button', { name: 'curl' }).click();
      const done = page.getByRole('region', { name: 'What was just done' });
      const command = await done.locator('pre').first().textContent();
      await page.keyboard.press('Escape');
      const { stdout } = await run('sh', ['-c', command!.replace('The chef', 'The owner')], {
        env: { ...process.env, PARLEY_API_KEY: demonstration.apiKey },
        encoding: 'utf8',
      });
      t.match(JSON.parse(stdout), { name: "The owner's hours" });
      await page.reload();
      await page.getByRole('button', { name: "The owner's hours" }).waitFor();
      await page.getByRole('button', { name: 'curl' }).click();
      await page.getByRole('region', { name: 'What this page reads' }).waitFor();
      t.equal(await done.count(), 0, 'nothing of it is kept anywhere');
      await page.keyboard.press('Escape');
    });

    await t.test('a sound is dropped, heard and deleted', async () => {
      await open('audio-assets');
      const samples = Buffer.alloc(16_000);
      const send = async (name: string, content: Buffer) => {
        await page.getByRole('button', { name: 'New' }).first().click();
        await drop(page, drawer.getByText(/Drop a WAV/), { name, type: 'audio/wav', content });
        await drawer.getByRole('button', { name: 'Upload' }).click();
      };
      const header = wavHeader({ sampleRate: 8000, channels: 1, dataBytes: samples.length });
      await send('Welcome.wav', Buffer.concat([header, samples]));
      await page.getByRole('button', { name: 'Welcome' }).click();
      await eventually('it can be played', () =>
        page.evaluate<boolean>("(document.querySelector('audio')?.readyState ?? 0) > 0"),
      );
      await remove('Welcome');
      await send('Not a sound.wav', Buffer.from('text'));
      await drawer.getByRole('alert').waitFor();
    });

    await t.test('numbers that are not to be called', async (t) => {
      await open('recipient-lists');
      await page.getByRole('button', { name: 'Do not call' }).click();
      await drawer.getByText('0 numbers').waitFor();
      await drawer.getByLabel('Number to add').fill('hello');
      await page.keyboard.press('Enter');
      await drawer.getByRole('alert').waitFor();
      await drawer.getByLabel('Number to add').fill('+14155550177');
      await page.keyboard.press('Enter');
      await drawer.getByText('+14155550177').waitFor();
      await drop(page, drawer.getByText(/Drop a CSV file/), {
        name: 'numbers.csv',
        type: 'text/csv',
        content: Buffer.from(`phone,name,reason\n+14155550178,${HOSTILE},=cmd\nnobody,,\n`),
      });
      await drawer.getByText('1 new, 0 updated, 1 left as they are.').waitFor();
      await drawer.getByText(/^Row 2: /).waitFor();
      await drawer.getByText('2 numbers').waitFor();
      const download = page.waitForEvent('download');
      await drawer.getByRole('button', { name: 'Export as CSV' }).click();
      const text = await readFile(await (await download).path(), 'utf8');
      t.match(text, '+14155550178');
      t.notMatch(text, /(^|,)"?=cmd/m, 'no cell of it is a formula');
    });

    await t.test('a voice speaks', async () => {
      await page.addInitScript(
        'HTMLMediaElement.prototype.play = function () { window.played = this.src; return Promise.resolve(); };',
      );
      await open('voices');
      await page.getByRole('button', { name: 'Slt' }).click();
      await drawer.getByLabel('Sentence to speak').fill('The kitchen closes at ten.');
      await drawer.getByRole('button', { name: 'Speak' }).click();
      await eventually('it is heard', () =>
        page.evaluate<boolean>("window.played?.startsWith('blob:') === true"),
      );
    });

    await t.test('a secret is rotated, and a delivery sent again', async (t) => {
      await holdTypedCall(opened, page, ['When do you close?']);
      await page.getByRole('tab', { name: 'Webhooks' }).click();
      const panel = page.getByRole('tabpanel', { name: 'Webhooks' });
      await panel.getByText('Succeeded').waitFor();
      const attempts = async () =>
        (await rest.get<{ items: { attempts: number }[] }>(`/v1/agents/${agentId}/webhook-deliveries`))
          .items[0]!.attempts;
      const before = await attempts();
      await panel.getByRole('button', { name: 'Redeliver' }).click();
      await eventually('it is sent again', async () => (await attempts()) > before);

      await open(`agents/${agentId}/advance`);
      await page.getByRole('button', { name: 'Rotate' }).click();
      const dialog = page.getByRole('dialog', { name: 'Rotate the secret' });
      await dialog.getByRole('button', { name: 'Rotate' }).click();
      const secret = await dialog.getByLabel('Secret', { exact: true }).inputValue();
      await dialog.getByRole('button', { name: 'Done' }).click();
      await page.getByText(`•••• ${secret.slice(-4)}`).waitFor();
      t.equal(await page.getByText(secret).count(), 0, 'shown once');
    });

    await t.test('a flow is begun and saved, and two versions share the calls', async (t) => {
      await open(`agents/${agentId}/flow`);
      await page.getByRole('button', { name: 'Begin a flow' }).click();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText(/Saved as version \d/).waitFor();
      const { version: newest } = await rest.get<{ version: number }>(`/v1/agents/${agentId}`);
      await open(`agents/${agentId}/versions`);
      await page.getByText('Chosen versions').click();
      await page.getByRole('combobox', { name: 'Add a version' }).click();
      await page.getByRole('option', { name: 'v1' }).click();
      const slider = page.getByRole('slider', { name: 'Share of version 1' });
      await slider.focus();
      for (let step = 0; step < 5; step++) await page.keyboard.press('ArrowRight');
      t.equal(await slider.getAttribute('aria-valuenow'), '55');
      await page.getByRole('button', { name: 'Publish', exact: true }).click();
      await page.getByText('New calls follow the new rule.').waitFor();
      for (const version of ['v1', `v${newest}`])
        await page.getByRole('row', { name: new RegExp(`^${version} \\d`) }).waitFor();
      const traffic = await rest.get<{ mode: string; splits: { version: number; weight: number }[] }>(
        `/v1/agents/${agentId}/traffic`,
      );
      t.equal(traffic.mode, 'pinned');
      t.equal(traffic.splits.find(({ version }) => version === 1)?.weight, 55);
    });

    t.same(
      problems.filter((problem) => !/status of 4(04|09|13|15|22)/.test(problem)),
      [],
      'nothing went wrong in the pages',
    );
  },
);
