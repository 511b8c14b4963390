import { randomUUID } from 'node:crypto';
import t from 'tap';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { openConsole, seriousFaults, skip } from './fixtures/console-browser.ts';

// What is set once and looked at each day, and a call that somebody takes over, in a browser: only where somebody asks for it
// (`npm run test:long`).

/** What somebody may say who wants to break the page. */
const HOSTILE = '<script>alert(1)</script> \u202egnirts <img src=x onerror=alert(2)>';

t.setTimeout(280_000);

void t.test('settings, people and calls', { skip: skip || (!LONG && 'npm run test:long') }, async (t) => {
  const { demonstration, desk, page, platform, problems, url, project } = await openConsole(t);
  const faults = async () =>
    t.same(await seriousFaults(page), [], `nothing keeps anybody out of ${page.url()}`);
  await page.goto(platform.controlPlane.startLink()!);
  await page.waitForURL(`${url}/projects/${project}/home`);
  const dialog = page.getByRole('dialog');
  const { orgId, rest } = demonstration;

  await t.test('home says whether all is well, and leads to what is not', async () => {
    await page.getByText('All is well', { exact: true }).waitFor();
    const { features, services } = platform.controlPlane;
    const sessions = features.collections.find(({ name }) => name === 'sessions')!;
    const native = services.database.model(sessions).collection;
    const failed = randomUUID();
    await native.insertOne({
      ...{ _id: failed as never, org_id: orgId, project_id: project, agent_id: demonstration.agentId },
      ...{
        channel: 'web',
        direction: 'web',
        transport: 'websocket',
        status: 'failed',
        failure_reason: 'llm_error',
      },
      ...{ test_run_id: null, parent_session_id: null, variables: {}, words: [], message_count: 0 },
      ...{ attempt_number: 1, llm_id: 'llm', stt_id: 'stt', tts_id: 'tts', created_at: new Date() },
    });
    await page.reload();
    await page.getByText('Not all is well').waitFor();
    await faults();
    await page
      .getByRole('region', { name: 'Now' })
      .getByRole('link', { name: /Model error/ })
      .click();
    await page.waitForURL(new RegExp(failed));
  });

  await t.test('an org is renamed, and gets a project, which says what comes first', async (t) => {
    await page.goto(`${url}/orgs/${orgId}/settings`);
    await page.getByLabel('Name').fill(HOSTILE);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await faults();
    t.match(await rest.get(`/v1/orgs/${orgId}`), { name: HOSTILE });
    await page.getByRole('link', { name: 'Projects' }).click();
    await page.getByRole('button', { name: 'New project' }).click();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Warehouse');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('link', { name: 'Warehouse' }).click();
    await page.getByRole('link', { name: 'Pick a template' }).waitFor();
    await faults();
  });

  // Before the org has a provider's key that is none.
  await t.test('a live call is taken over', async (t) => {
    const steps = [{ pause_ms: 60_000 }];
    const order = {
      carrier: 'plivo',
      outbound: true,
      agent_id: demonstration.agentId,
      to: '+14155552109',
      steps,
    };
    const placed = await desk.place(order as Parameters<typeof desk.place>[0]);
    placed.outcome.catch(() => undefined);
    await page.goto(`${url}/projects/${project}/calls/${placed.session_id}`);
    await page.getByText('In progress', { exact: true }).first().waitFor({ timeout: 60_000 });
    await page.getByRole('button', { name: 'Take over' }).click();
    await dialog.getByRole('combobox', { name: 'To' }).click();
    await page.getByRole('option', { name: 'A number of your own' }).click();
    await dialog.getByLabel('Number').fill('+1 415 555 0199');
    await dialog.getByRole('button', { name: 'Transfer' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { data } = await eventually('the transfer begins', async () => {
      const { items } = await rest.get<{ items: { data: { destination_id?: string } }[] }>(
        `/v1/sessions/${placed.session_id}/events?type=transfer`,
      );
      return items[0];
    });
    t.equal(data.destination_id, 'operator');
  });

  await t.test('a provider is given its key, and asked whether it takes it', async (t) => {
    await page.goto(`${url}/projects/${project}/provider-credentials`);
    await page.getByRole('button', { name: 'New' }).first().click();
    await dialog.getByRole('combobox', { name: 'Provider' }).click();
    await page.getByRole('option', { name: /Deepgram/ }).click();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Our speech');
    await dialog.getByLabel(/API key/i).fill('dg-0123456789abcdef');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Our speech' }).click();
    await dialog.getByRole('button', { name: 'Try it' }).click();
    await dialog.getByText(/The provider (takes it|refused|could not be reached)/).waitFor();
    t.notMatch(await dialog.innerHTML(), /dg-0123456789/, 'a key is never shown again');
    await faults();
  });

  await t.test("an account is added by its carrier's fields, and checked", async () => {
    await page.goto(`${url}/projects/${project}/telephony-accounts`);
    await page.getByRole('button', { name: 'New' }).first().click();
    await dialog.getByRole('combobox', { name: 'Carrier' }).click();
    await page.getByRole('option', { name: 'Plivo' }).click();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Wrong');
    await dialog.getByLabel('Auth ID').fill('MAWRONG');
    await dialog.getByLabel('Auth token').fill('wrong');
    await faults();
    await dialog.getByRole('button', { name: 'Add and check' }).click();
    await page.getByRole('row', { name: /Wrong/ }).getByText('Invalid').waitFor();
  });

  await t.test('a number is put on a do-not-call list, found and taken off', async () => {
    await page.goto(`${url}/projects/${project}/recipient-lists`);
    await page.getByRole('button', { name: 'Do not call' }).click();
    await dialog.getByLabel('Number to add').fill('+91 98765 43210');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByText('+919876543210').waitFor();
    await faults();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+K');
    const finder = page.getByRole('dialog', { name: /^Find a page, or a record/ });
    await finder.getByRole('textbox').fill('+91 98765 43210');
    await finder.getByRole('button', { name: /919876543210/ }).click();
    const find = dialog.getByLabel('Find a number, with its country code');
    await find.fill('+919876543211');
    await dialog.getByText('This number is not in the list.').waitFor();
    await find.fill('');
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
    const confirm = page.getByRole('dialog', { name: /Remove \+91/ });
    await confirm.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByRole('status').getByText('0 numbers').waitFor();
  });

  await t.test('the address keeps what the audit trail is narrowed to', async () => {
    await page.goto(`${url}/orgs/${orgId}/audit`);
    await page.getByLabel('To what').fill('nothing');
    await page.waitForURL(/target=nothing/);
    await page.getByText('No entry fits').waitFor();
    await page.goto(`${url}/orgs/${orgId}/audit?action=suppression.removed`);
    await page.getByRole('table', { name: 'Audit trail' }).getByText('Suppression removed').waitFor();
    await faults();
  });

  t.same(problems, [], 'nothing went wrong in the pages');
});
