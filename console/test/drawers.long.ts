import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Locator, Page } from 'playwright-core';
import t from 'tap';
import { DisposableList } from '@parley/shared/async/disposable-list';
import type { PlivoComplaints } from '@parley/emulators/carriers/plivo-complaints';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { openFailingDatabase } from '../../embedded/test/fixtures/system/failing-database.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, seriousFaults, settle, skip } from './fixtures/console-browser.ts';
import { makeRecords } from './fixtures/made-records.ts';
import { signIn } from './fixtures/people.ts';
import { holdTypedCall } from './fixtures/typed-call.ts';

// Every drawer and dialog in which something is typed, on a telephone and by keyboard: what is typed survives Escape and a
// server that fails, and whoever closes it is back where they were. Only where somebody asks for it (`npm run test:long`).

interface Form {
  /** Of its page, with what stands before it. */
  address: string;
  /** What opens it. */
  opener: (page: Page) => Locator;
  /** Of the menu that the opener opens. */
  item?: string;
  /** In which something is typed. */
  field: string;
  text: string;
  submit: string;
  /** What cannot be typed, before or after: choices, files. */
  complete?: (dialog: Locator, page: Page) => Promise<void>;
  /** What comes of it once the server is well: it is done, or something is still missing. */
  then: 'closed' | 'saved' | 'shown' | 'refused';
}

t.setTimeout(1_800_000);

void t.test('forms in drawers and dialogs', { skip: skip || (!LONG && 'npm run test:long') }, async (t) => {
  const owned = new DisposableList();
  t.teardown(() => owned.dispose());
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-drawers-'));
  owned.defer(() => rm(folder, { recursive: true, force: true }));
  const database = await openFailingDatabase(folder, owned);
  const opened = await openConsole(t, { MONGODB_URI: database.uri });
  const { demonstration, platform, problems, project, url } = opened;
  const { agentId, orgId } = demonstration;
  const owner = await signIn(opened, OWNER.email);
  const { page } = owner;
  const made = await makeRecords(opened, owner, 'Lakeside');
  await owner.call('POST', `/v1/campaigns/${made['campaign_id']}/contacts`, {
    contacts: [{ phone_number: '+14155550904', name: 'Ada' }],
  });
  const sessionId = await holdTypedCall(opened, page, ['When do you close?']);
  const { complaints } = platform.carriers.plivo as unknown as { complaints: PlivoComplaints };
  complaints.set({ reference_id: 'one' });
  await page.goto(`${url}/projects/${project}/ucc-complaints`);
  await page.getByRole('button', { name: 'Ask Plivo now' }).click();
  await page.getByRole('row', { name: /\bone\b/ }).waitFor();

  const within = `/projects/${project}`;
  const agent = `${within}/agents/${agentId}`;
  const button = (name: string | RegExp) => (on: Page) =>
    on.getByRole('button', { name, exact: true }).first();
  const record = (on: Page) => on.locator('main tbody').getByRole('button').first();
  const row = (on: Page) => on.locator('main .data-table-body-row').first();
  const choose = (label: string, option: string | RegExp) => async (dialog: Locator, on: Page) => {
    await dialog.getByRole('combobox', { name: label, exact: true }).click();
    await on.getByRole('option', { name: option }).first().click();
  };
  const named = (kind: string, then: Form['then']): Form => ({
    ...{ address: `${within}/${kind}`, opener: button('New'), field: 'Name', text: 'Kept' },
    ...{ submit: 'Create', then },
  });
  const changed = (kind: string, field = 'Name', text = ' again'): Form => ({
    ...{ address: `${within}/${kind}`, opener: record, field, text, submit: 'Save', then: 'saved' as const },
  });
  const forms: Form[] = [
    named('tools', 'refused'),
    named('knowledge-bases', 'closed'),
    named('databases', 'closed'),
    named('analyses', 'refused'),
    named('inbound-deployments', 'refused'),
    {
      ...named('recipient-lists', 'closed'),
      complete: (dialog) => dialog.getByText('Recipients', { exact: true }).click(),
    },
    named('models', 'refused'),
    {
      ...named('audio-assets', 'refused'),
      submit: 'Upload',
      complete: (dialog) =>
        dialog.locator('input[type=file]').setInputFiles({
          ...{ name: 'hello.wav', mimeType: 'audio/wav', buffer: Buffer.from('no sound') },
        }),
    },
    {
      ...named('phone-numbers', 'refused'),
      ...{ field: 'Number', text: 'hello', submit: 'Import' },
      async complete(dialog, on) {
        await dialog.getByText('The account has it').click();
        await choose('Account', /plivo/i)(dialog, on);
      },
    },
    {
      ...named('provider-credentials', 'closed'),
      async complete(dialog, on) {
        await choose('Provider', /OpenAI/)(dialog, on);
        await dialog.getByLabel(/API key/i).fill('sk-0123456789abcdef');
      },
    },
    {
      ...named('telephony-accounts', 'closed'),
      submit: 'Add and check',
      async complete(dialog, on) {
        await choose('Carrier', 'Twilio')(dialog, on);
        await dialog.getByLabel('Account SID').fill('AC00000000000000000000000000000000');
        await dialog.getByLabel('Auth token').fill('not-the-token');
      },
    },
    changed('tools', 'Description'),
    changed('knowledge-bases'),
    changed('databases'),
    changed('analyses'),
    { ...changed('recipient-lists'), opener: button(/^Lakeside regulars/) },
    changed('phone-numbers', 'Label', 'Night desk'),
    changed('inbound-deployments'),
    changed('telephony-accounts'),
    {
      ...{ address: `${within}/agents`, opener: button('New agent'), field: 'Name', text: 'Kept' },
      ...{ submit: 'Create agent', then: 'closed' },
    },
    {
      ...{
        address: `${agent}/tests`,
        opener: button('New test'),
        item: 'Script',
        field: 'Name',
        text: 'Kept',
      },
      ...{ submit: 'Save', then: 'refused' },
    },
    {
      ...{ address: `${agent}/tests`, opener: button(/^Lakeside greets/), field: 'Name', text: ' again' },
      ...{ submit: 'Save', then: 'closed' },
    },
    {
      ...{ address: `/orgs/${orgId}/projects`, opener: button('New project'), field: 'Name', text: 'Kept' },
      ...{ submit: 'Create', then: 'closed' },
    },
    {
      ...{ address: `${within}/api-keys`, opener: button('New key'), field: 'Name', text: 'Kept' },
      ...{ submit: 'Create', then: 'shown' },
    },
    {
      ...{ address: `/orgs/${orgId}/members`, opener: button('Invite'), field: 'E-mail' },
      ...{ text: 'eve@example.test', submit: 'Invite', then: 'closed' },
    },
    {
      ...{ address: `/orgs/${orgId}/rate-limits`, opener: button('New limit'), field: 'At most', text: '7' },
      ...{ submit: 'Create', then: 'closed' },
    },
    {
      ...{ address: `${within}/campaigns/${made['campaign_id']}`, opener: button('Add'), field: 'Number' },
      ...{ text: '+14155550191', submit: 'Add', then: 'closed' },
    },
    {
      ...{
        address: `${within}/campaigns/${made['campaign_id']}`,
        opener: row,
        field: 'Name',
        text: ' Lovelace',
      },
      ...{ submit: 'Save', then: 'saved' },
    },
    {
      ...{ address: `${within}/ucc-complaints`, opener: row, field: 'Or where it is' },
      ...{ text: 'https://127.0.0.1:1/proof.pdf', submit: 'Hand in the proof', then: 'refused' },
    },
    {
      ...{
        address: `${within}/calls/${sessionId}`,
        opener: button('Make a test'),
        field: 'Name',
        text: ' again',
      },
      ...{ submit: 'Make the test', then: 'closed' },
    },
  ];
  await page.setViewportSize({ width: 360, height: 780 });

  for (const { address, opener, item, field, text, submit, complete, then } of forms)
    await t.test(`${address.replace(/(agt|cmp|prj|org)_\w+|[0-9a-f-]{36}/g, '…')}: ${submit}`, async (t) => {
      database.mode = 'well';
      await page.goto(`${url}${address}`);
      await settle(page);
      const dialog = page.getByRole('dialog').filter({ hasNotText: 'It has not been saved.' });
      const question = page.getByRole('dialog', { name: 'Discard what you typed?' });
      const input = dialog.getByRole('textbox', { name: field, exact: true }).first();
      const begin = async (isCompleted = true) => {
        await opener(page).press('Enter');
        if (item !== undefined) await page.getByRole('menuitem', { name: item }).press('Enter');
        await dialog.waitFor();
        await settle(page);
        const inside = "document.querySelector('[role=dialog]')?.contains(document.activeElement) === true";
        await eventually('the focus is in it', () => page.evaluate<boolean>(inside), 10_000);
        if (!isCompleted) return;
        await complete?.(dialog, page);
        await input.waitFor();
      };
      const type = async () => {
        for (let steps = 0; steps < 60 && !(await isFocused(input)); steps++)
          await page.keyboard.press('Tab');
        t.ok(await isFocused(input), 'its field is reached by keyboard');
        await page.keyboard.press('Control+End');
        await page.keyboard.type(text);
      };
      const isBack = () =>
        t.resolves(
          eventually('the focus returns', () => isFocused(opener(page)), 10_000),
          'the focus is on what opened it',
        );

      await begin(false);
      if (then === 'refused') t.same(await seriousFaults(page), []);
      t.same(await cutOff(page), [], 'nothing of it is cut off');
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await isBack();

      await begin();
      const before = await input.inputValue();
      await type();
      await page.keyboard.press('Escape');
      await question.waitFor();
      await page.keyboard.press('Escape');
      await question.waitFor({ state: 'detached' });
      t.equal(await input.inputValue(), `${before}${text}`, 'what was typed is kept');
      await page.keyboard.press('Escape');
      await question.getByRole('button', { name: 'Discard' }).press('Enter');
      await dialog.waitFor({ state: 'detached' });
      await isBack();

      await begin();
      t.equal(await input.inputValue(), before, 'what was discarded is gone');
      await type();
      const send = dialog.getByRole('button', { name: submit, exact: true });
      database.mode = 'failing';
      await send.press('Enter');
      const alert = dialog.getByRole('alert').filter({ hasText: /req_/ });
      const why = dialog.locator('[aria-invalid=true], [role=alert], .mantine-InputWrapper-error').first();
      // Whose sign-in is still known is told what is missing, before anything is stored.
      const told = then === 'refused' ? why : alert;
      await t.resolves(told.waitFor(), 'it says what is wrong, and names the request');
      await t.resolves(
        eventually('it is seen', () => isOnScreen(told), 10_000),
        'where it is seen',
      );
      t.equal(await input.inputValue(), `${before}${text}`, 'what was typed is kept');
      t.same(await cutOff(page), [], 'nothing is cut off');
      database.mode = 'well';
      await send.press('Enter');
      if (then === 'closed') {
        await t.resolves(dialog.waitFor({ state: 'detached' }), 'it is done');
      } else if (then === 'saved') {
        await t.resolves(
          dialog
            .getByRole('button', { name: submit, exact: true, disabled: true })
            .and(page.locator(':not([data-loading])'))
            .waitFor(),
          'it is saved',
        );
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
        await isBack();
      } else if (then === 'refused') {
        await alert.waitFor({ state: 'detached' }).catch(() => undefined);
        await t.resolves(why.waitFor(), 'it says what is missing');
        t.equal(await input.inputValue(), `${before}${text}`, 'what was typed is kept');
      }
    });
  await page.setViewportSize({ width: 1440, height: 900 });

  t.same(
    problems.filter((problem) => !/status of (404|409|415|422|500|502|503)/.test(problem)),
    [],
    'nothing went wrong in the pages',
  );
});

async function isOnScreen(one: Locator): Promise<boolean> {
  const box = await one.boundingBox();
  return box !== null && box.y + box.height > 0 && box.y < one.page().viewportSize()!.height;
}

async function isFocused(one: Locator): Promise<boolean> {
  return (await one.and(one.page().locator(':focus')).count()) > 0;
}

/** What of the uppermost dialog lies beyond the screen, or is a label that does not fit its button. */
function cutOff(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `(() => {
      const dialog = [...document.querySelectorAll('[role=dialog]')].at(-1);
      const outside = [...dialog.querySelectorAll('*')].filter((one) => {
        const { left, right, width } = one.getBoundingClientRect();
        return width > 0 && (right > innerWidth + 1 || left < -1) &&
          !one.closest('table, pre, .data-table, .mantine-ScrollArea-root, [aria-hidden=true]');
      });
      const cut = [...dialog.querySelectorAll('.mantine-Button-label')].filter((one) => one.scrollWidth > one.clientWidth + 1);
      const sideways = [dialog, ...dialog.querySelectorAll('.mantine-Drawer-body, .mantine-Modal-body')]
        .filter((one) => one.scrollWidth > one.clientWidth + 1);
      return [...outside, ...cut, ...sideways].map((one) => one.outerHTML.slice(0, 160)).slice(0, 5);
    })()`,
  );
}
