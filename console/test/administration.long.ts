import { readFile } from 'node:fs/promises';
import t from 'tap';
import { wavHeader } from '@parley/shared/audio/wav';
import { uuidV7 } from '@parley/shared/ids/new-id';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, seriousFaults, settle, skip } from './fixtures/console-browser.ts';
import { drop } from './fixtures/drop.ts';
import { invite, signIn } from './fixtures/people.ts';

// What somebody does who administers an org, in a browser: people, features, keys, invoices, voices. Only where somebody asks
// for it (`npm run test:long`).

t.setTimeout(600_000);

void t.test('an org is administered', { skip: skip || (!LONG && 'npm run test:long') }, async (t) => {
  const opened = await openConsole(t, {
    INVOICE_SELLER_NAME: 'Parley Installation Ltd.',
    INVOICE_SELLER_ADDRESS: '1 Long Road | 10115 Berlin',
    INVOICE_TAX_PERCENT: '19',
  });
  const { demonstration, platform, problems, project, url } = opened;
  const { agentId, orgId, rest } = demonstration;
  const owner = await signIn(opened, OWNER.email);
  const { page } = owner;
  const dialog = page.getByRole('dialog');
  const faults = async () =>
    t.same(await seriousFaults(page), [], `nothing keeps anybody out of ${page.url()}`);
  const member = { orgId, email: 'vera@example.test', name: 'Vera Lindt', role: 'viewer' };
  const vera = await invite(opened, owner, member);
  const admin = await invite(opened, owner, {
    orgId,
    email: 'adam@example.test',
    name: 'Adam Berg',
    role: 'admin',
  });

  await t.test('a role is changed, and a member removed', async (t) => {
    const newAgent = vera.page.getByRole('button', { name: 'New agent' });
    await vera.page.goto(`${url}/projects/${project}/agents`);
    await settle(vera.page);
    t.equal(await newAgent.count(), 0);
    await page.goto(`${url}/orgs/${orgId}/members`);
    const members = page.getByRole('table', { name: 'Members' });
    const row = members.getByRole('row', { name: /Vera Lindt/ });
    t.equal(
      await members
        .getByRole('row', { name: new RegExp(OWNER.name) })
        .getByRole('combobox')
        .count(),
      0,
      'nobody changes what they may do themselves',
    );
    await row.getByRole('combobox', { name: 'Role of Vera Lindt' }).click();
    await page.getByRole('option', { name: 'editor' }).click();
    await eventually('her role is stored', async () => {
      const { body } = await owner.call<{ items: { name: string; role: string }[] }>(
        'GET',
        `/v1/orgs/${orgId}/members`,
      );
      return body.items.some(({ name, role }) => name === 'Vera Lindt' && role === 'editor');
    });
    await faults();
    await vera.page.reload();
    await newAgent.waitFor();

    await row.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await row.waitFor();
    await row.getByRole('button', { name: 'Remove' }).click();
    const confirm = page.getByRole('dialog', { name: 'Remove Vera Lindt?' });
    await confirm.getByRole('button', { name: 'Remove' }).click();
    await row.waitFor({ state: 'detached' });
    await vera.page.reload();
    await vera.page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await vera.page.goto(url);
    await vera.page.getByText('You are in no organisation').waitFor();
  });

  await t.test('an admin gives no role above their own', async (t) => {
    await invite(opened, owner, { ...member, email: 'vera2@example.test' });
    await admin.page.goto(`${url}/orgs/${orgId}/members`);
    await admin.page.getByRole('combobox', { name: 'Role of Vera Lindt' }).click();
    await admin.page.getByRole('option', { name: 'admin' }).waitFor();
    t.equal(await admin.page.getByRole('option', { name: 'owner' }).count(), 0);
    const anna = admin.page.getByRole('row', { name: new RegExp(OWNER.name) });
    t.equal(await anna.getByRole('button').count(), 0, 'nor removes who is above them');
  });

  await t.test('a feature is switched off by an owner, and pages say so', async (t) => {
    const features = `${url}/orgs/${orgId}/feature-flags`;
    await admin.page.goto(features);
    await admin.page.getByRole('switch', { name: 'Databases' }).waitFor();
    t.equal(await admin.page.getByRole('switch', { disabled: false }).count(), 0, 'an admin may only look');
    await page.goto(features);
    const isOn = async () =>
      (
        await rest.get<{ items: { key: string; enabled: boolean }[] }>(`/v1/orgs/${orgId}/feature-flags`)
      ).items.find(({ key }) => key === 'databases')!.enabled;
    const toggle = page.getByRole('switch', { name: 'Databases', disabled: false });
    await toggle.press('Space');
    await eventually('it is off', async () => !(await isOn()));
    await page.goto(`${url}/projects/${project}/databases`);
    await page.getByText('This feature is switched off').waitFor();
    await faults();
    await page.goto(features);
    await toggle.press('Space');
    await eventually('it is on', isOn);
    await page.goto(`${url}/projects/${project}/databases`);
    await settle(page);
    t.equal(await page.getByText('This feature is switched off').count(), 0);
  });

  await t.test('keys that a key made end with it', async (t) => {
    await page.goto(`${url}/projects/${project}/api-keys`);
    await page.getByRole('button', { name: 'New key' }).first().click();
    await dialog.getByLabel('Name').fill('Deployment');
    await dialog.getByRole('combobox', { name: 'Role' }).click();
    await page.getByRole('option', { name: /^Admin/ }).click();
    await dialog.getByRole('button', { name: 'Create' }).click();
    const shown = page.getByRole('dialog', { name: 'Copy the key now' });
    const key = (await shown.getByText(/^sk-svc-/).textContent())!;
    await page.keyboard.press('Escape');
    await shown.waitFor({ state: 'detached' });
    const made = await fetch(`${platform.localUrl}/v1/projects/${project}/api-keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Made by it', role: 'viewer' }),
    });
    t.equal(made.status, 201);
    await page.reload();
    const keys = page.getByRole('table', { name: 'API keys' });
    await keys
      .getByRole('row', { name: /Deployment/ })
      .getByText('admin', { exact: true })
      .waitFor();
    await keys
      .getByRole('row', { name: /Deployment/ })
      .getByRole('button', { name: 'Revoke' })
      .click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    for (const name of [/Deployment/, /Made by it/])
      await keys.getByRole('row', { name }).getByText('Revoked', { exact: true }).waitFor();
  });

  await t.test('keys beyond the first hundred are shown, too', async () => {
    for (let n = 0; n < 101; n++)
      await owner.call('POST', `/v1/projects/${project}/api-keys`, { name: `Key ${n}`, role: 'viewer' });
    await page.goto(`${url}/projects/${project}/api-keys`);
    const keys = page.getByRole('table', { name: 'API keys' });
    const first = keys.getByRole('row', { name: /Demonstration/ });
    await keys.getByRole('row').nth(1).focus();
    await eventually('the first key is in sight', async () => {
      await page.keyboard.press('End');
      return (await first.count()) > 0;
    });
    await first.getByText('Active', { exact: true }).waitFor();
  });

  await t.test('an invoice is listed, and saved as a PDF', async (t) => {
    await page.goto(`${url}/orgs/${orgId}/billing`);
    await page.getByText('No invoice yet').waitFor();
    const { services } = platform.controlPlane;
    const now = new Date();
    const inLastMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 15));
    await services.usageSums.booked({
      ...{ session_id: uuidV7(), org_id: orgId, project_id: project, agent_id: agentId, agent_version: 1 },
      ...{ channel: 'web', direction: 'web', connected: true, connected_ms: 60_000, currency: 'USD' },
      ...{ replies: { count: 0, total_ms: 0 }, latencies: null, end_reason: null },
      ended_at: inLastMonth,
      amount_nano: 7_000_000_000n,
    });
    const month = inLastMonth.toISOString().slice(0, 7);
    const { signal } = new AbortController();
    t.equal(await services.invoiceCloser!.close(month, { caller: 'cli', signal }), 1);
    await page.reload();
    const row = page.getByRole('region', { name: 'Invoices' }).getByRole('row').nth(1);
    await row.getByText('$8.33').waitFor();
    await row.getByText('$1.33 tax').waitFor();
    const named = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
    await row.getByRole('cell', { name: named.format(inLastMonth) }).waitFor();
    await faults();
    const download = page.waitForEvent('download');
    await row.getByRole('button', { name: /as PDF$/ }).click();
    const saved = await download;
    t.match(saved.suggestedFilename(), /^INV-\d+\.pdf$/);
    t.match(await readFile(await saved.path(), 'latin1'), /^%PDF-/);
  });

  await t.test('a voice is cloned, heard, renamed and deleted', async (t) => {
    await page.addInitScript(
      'HTMLMediaElement.prototype.play = function () { window.played = this.src; return Promise.resolve(); };',
    );
    await page.goto(`${url}/projects/${project}/voices`);
    await page.getByRole('button', { name: 'New', exact: true }).click();
    const samples = Buffer.alloc(16_000);
    const header = wavHeader({ sampleRate: 8000, channels: 1, dataBytes: samples.length });
    await drop(page, dialog.getByText(/^Drop one to 5 recordings/), {
      name: 'asha.wav',
      type: 'audio/wav',
      content: Buffer.concat([header, samples]),
    });
    await dialog.getByText('asha.wav').waitFor();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Asha');
    await dialog.getByRole('textbox', { name: 'Language' }).fill('Hindi!');
    await dialog.getByRole('combobox', { name: 'Model' }).click();
    const flash = page.getByRole('option', { name: /Flash/ });
    await flash.waitFor();
    t.equal(
      await page.getByRole('option', { name: /Built-in/ }).count(),
      0,
      'only models that clone are offered',
    );
    await flash.click();
    await dialog.getByRole('button', { name: 'Clone', disabled: true }).waitFor();
    await dialog.getByRole('checkbox', { name: 'The speaker agrees to the clone' }).check();
    await faults();
    await dialog.getByRole('button', { name: 'Clone' }).click();
    await dialog.getByText('must be a BCP 47 tag').waitFor();
    await dialog.getByRole('textbox', { name: 'Language' }).fill('hi');
    await dialog.getByRole('button', { name: 'Clone' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /Asha/ }).getByText('Ready').waitFor();

    await page.getByRole('button', { name: 'Asha', exact: true }).click();
    await dialog.getByLabel('Sentence to speak').fill('Namaste.');
    await dialog.getByRole('button', { name: 'Speak' }).click();
    await eventually('it is heard', () =>
      page.evaluate<boolean>("window.played?.startsWith('blob:') === true"),
    );
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('Asha at noon');
    await dialog.getByText('Yes', { exact: true }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('button', { name: 'Save', disabled: true }).waitFor();
    const clones = () =>
      rest.get<{ items: { name: string; is_public: boolean }[] }>('/v1/voices?source=clone');
    t.match(await clones(), { items: [{ name: 'Asha at noon', is_public: true }] });
    await dialog.getByRole('button', { name: 'Delete' }).click();
    const confirm = page.getByRole('dialog', { name: 'Delete Asha at noon' });
    await confirm.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Asha at noon' }).waitFor({ state: 'detached' });
    t.same((await clones()).items, []);
    // Those of the catalogue are nobody's to change.
    await page.getByRole('button', { name: 'Slt' }).click();
    await dialog.getByRole('button', { name: 'Speak' }).waitFor();
    t.equal(await dialog.getByRole('button', { name: /^(Delete|Save)$/ }).count(), 0);
  });

  t.same(
    problems.filter((problem) => !/status of 4(04|22)/.test(problem)),
    [],
    'nothing went wrong in the pages',
  );
});
