import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Locator } from 'playwright-core';
import t from 'tap';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { openConsole, seriousFaults, skip, tooWide } from './fixtures/console-browser.ts';

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

  await t.test('home says whether all is well, and leads to what is not', async (t) => {
    await page.getByText('All is well', { exact: true }).waitFor();
    const { features, services } = platform.controlPlane;
    const sessions = features.collections.find(({ name }) => name === 'sessions')!;
    const native = services.database.model(sessions).collection;
    /** Six of them: more than are listed by themselves. */
    const failures = Array.from({ length: 6 }, () => randomUUID());
    const failed = failures[0]!;
    for (const [age, _id] of failures.entries())
      await native.insertOne({
        ...{ _id: _id as never, org_id: orgId, project_id: project, agent_id: demonstration.agentId },
        ...{
          channel: 'web',
          direction: 'web',
          transport: 'websocket',
          status: 'failed',
          failure_reason: 'llm_error',
        },
        ...{ test_run_id: null, parent_session_id: null, variables: {}, words: [], message_count: 0 },
        ...{ attempt_number: 1, llm_id: 'llm', stt_id: 'stt', tts_id: 'tts' },
        created_at: new Date(Date.now() - age * 1000),
      });
    const yesterday = new Date(Date.now() - 86_400_000);
    type Booked = Parameters<typeof services.usageSums.booked>[0];
    const booked: Omit<Booked, 'ended_at' | 'session_id'> = {
      ...{ org_id: orgId, project_id: project, agent_id: null, agent_version: null, amount_nano: 0n },
      ...{ channel: 'web', direction: 'web', connected: true, connected_ms: 60_000, currency: 'USD' },
      ...{ replies: { count: 1, total_ms: 800 }, end_reason: 'caller_hangup' },
      latencies: { reply: { b67: 1 }, turn_end: { b57: 1 }, llm: { b55: 1 }, voice: { b50: 1 } },
    };
    for (const ended_at of [new Date(), yesterday, yesterday])
      await services.usageSums.booked({ ...booked, ended_at, session_id: randomUUID() });
    await services.usageSums.work(new AbortController().signal);
    await page.reload();
    await page.getByText('Not all is well').waitFor();
    const today = page.getByRole('region', { name: 'Today against the last seven days' });
    const times = today.getByRole('row', { name: /Reply time, median/ });
    await times
      .getByRole('img', { name: /Reply after .* Turn end .* LLM .* Voice/ })
      .nth(1)
      .waitFor();
    await today.getByRole('row', { name: /Calls/ }).getByText('0.3 a day').waitFor();
    await today
      .getByRole('row', { name: /Ended: Caller hung up/ })
      .getByText('100 %')
      .first()
      .waitFor();
    await faults();
    await page.setViewportSize({ width: 360, height: 780 });
    t.same(await tooWide(page), [], 'home fits a telephone');
    const last = today.getByRole('columnheader', { name: 'Last seven days' });
    await last.scrollIntoViewIfNeeded();
    const { x, width } = (await last.boundingBox())!;
    t.ok(x >= 0 && x + width <= 360, 'its table is scrolled by itself');
    await page.setViewportSize({ width: 1440, height: 900 });
    const now = page.getByRole('region', { name: 'Now' });
    t.equal(await now.getByRole('link', { name: /Model error/ }).count(), 5);
    await now.getByRole('link', { name: 'All 6 that failed' }).click();
    await page.waitForURL(/\/calls\?/);
    const calls = page.getByRole('table', { name: 'Calls', exact: true });
    await calls.getByRole('row').nth(6).waitFor();
    t.equal(await calls.getByRole('row').count(), 7, 'the head, and those that failed alone');
    await page.goBack();
    await now
      .getByRole('link', { name: /Model error/ })
      .first()
      .click();
    await page.waitForURL(new RegExp(failed));
  });

  await t.test(
    'what is used is told by day, by project and by agent, with the files behind it',
    async (t) => {
      await page.goto(`${url}/orgs/${orgId}/usage`);
      const byDay = page.getByRole('region', { name: 'Usage by day' });
      await byDay.getByRole('row').nth(2).waitFor();
      const saved = async (button: Locator) => {
        const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
        return (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
      };
      const exported = page.getByRole('button', { name: 'Export CSV' });
      const ofAll = await saved(exported);
      await page.getByRole('combobox', { name: 'Project' }).click();
      await page.getByRole('option').first().click();
      const byAgent = page.getByRole('region', { name: 'By agent' });
      await byAgent.getByRole('row', { name: /No agent/ }).waitFor();
      const agents = await saved(byAgent.getByRole('button', { name: 'Export CSV' }));
      const days = await saved(exported.first());
      t.equal(agents[0], 'agent_id,agent,sessions,answer_rate,minutes,median_reply_ms');
      t.match(agents[1], /^,No agent,3,1,3,\d+$/);
      t.equal(ofAll.length, 31, 'a line for each day, below their names');
      t.same(ofAll, days, 'the only project has all that the org has');
      await faults();
      await page.getByRole('combobox', { name: 'Days' }).click();
      await page.getByRole('option', { name: 'Other days' }).click();
      await page.getByLabel('From').fill('2031-01-31');
      await page.getByText('Choose a first day').waitFor();
      t.equal(await exported.count(), 0);
    },
  );

  await t.test("times are told, pointed at and asked for by the project's clock", async (t) => {
    await page.goto(`${url}/projects/${project}/settings`);
    const zone = page.getByRole('combobox', { name: 'Timezone' });
    await zone.fill('Tokyo');
    await page.getByRole('option', { name: 'Asia/Tokyo' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.goto(`${url}/projects/${project}/calls?after=2026-01-31T18:45:00.000Z`);
    await page.getByRole('button', { name: /^Filters/ }).click();
    const from = page.getByLabel('From', { exact: true });
    t.equal(await from.inputValue(), '2026-02-01T03:45');
    await from.fill('2026-02-01T09:00');
    await page.waitForURL(/after=(%22)?2026-02-01T00%3A00%3A00\.000Z/);
    await page.keyboard.press('Escape');
    const time = page.getByRole('table', { name: 'Calls' }).locator('time').first();
    await time.hover();
    await page.getByRole('tooltip', { name: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/ }).waitFor();
    const at = new Date((await time.getAttribute('datetime'))!);
    const clock = new Date(at.getTime() + 9 * 3_600_000).toISOString().slice(11, 16);
    t.match(await time.textContent(), clock);
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

  await t.test('a project that is over is archived, by its name', async (t) => {
    await page.goto(`${url}/orgs/${orgId}/projects`);
    await page.getByRole('link', { name: 'Warehouse' }).click();
    await page.waitForURL(/\/home$/);
    await page.goto(page.url().replace(/home$/, 'settings'));
    await page.getByRole('button', { name: 'Archive project' }).click();
    const confirm = page.getByRole('dialog', { name: 'Archive “Warehouse”?' });
    await faults();
    await confirm.getByRole('button', { name: 'Archive', exact: true }).click();
    await page.waitForURL(`${url}/orgs/${orgId}/projects`);
    await page.getByRole('link', { name: 'Warehouse' }).waitFor({ state: 'detached' });
    const { items } = await rest.get<{ items: { name: string }[] }>(`/v1/orgs/${orgId}/projects`);
    t.notOk(items.some(({ name }) => name === 'Warehouse'));
    await page.goto(`${url}/projects/${project}/settings`);
    await page.getByRole('button', { name: 'Archive project' }).click();
    const own = page.getByRole('dialog', { name: /^Archive “/ });
    await own.getByRole('button', { name: 'Archive', exact: true }).click();
    await own.getByText('The project is in use').waitFor();
    await own.getByRole('listitem').first().waitFor();
    await page.keyboard.press('Escape');
  });

  await t.test('a limit shows how much of it is used', async () => {
    await page.goto(`${url}/orgs/${orgId}/rate-limits`);
    await page.getByRole('button', { name: 'New limit' }).first().click();
    await dialog.getByRole('textbox', { name: 'At most' }).fill('1000');
    await dialog.getByRole('textbox', { name: 'In seconds' }).fill('86400');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.waitFor({ state: 'detached' });
    const row = page.getByRole('row', { name: /Session starts/ });
    await row.getByText('0', { exact: true }).waitFor();
    await rest.post('/v1/sessions', { agent_id: demonstration.agentId });
    await row.getByText('1', { exact: true }).waitFor();
    await row.getByText('1,000 in 86400 s').waitFor();
    await faults();
    await row.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No limit of your own').waitFor();
  });

  await t.test('a database shows the rows behind the first page', async () => {
    const { id } = await rest.post<{ id: string }>(`/v1/orgs/${orgId}/projects/${project}/databases`, {
      name: 'Guests',
      columns: [{ key: 'name', label: 'Name', type: 'text', source: { from: 'manual' } }],
    });
    for (let n = 0; n < 103; n++)
      await rest.post(`/v1/databases/${id}/rows`, { values: { name: `Guest ${n}` } });
    await page.goto(`${url}/projects/${project}/databases`);
    await page.getByRole('button', { name: 'Guests' }).click();
    await dialog.getByText('100 of 103').waitFor();
    await faults();
    await dialog.getByRole('button', { name: 'Load more' }).click();
    await dialog.getByText('103 of 103').waitFor();
    await dialog.getByRole('cell', { name: 'Guest 0', exact: true }).waitFor();
    await page.keyboard.press('Escape');
  });

  await t.test('a call leaves a row in a database that its agent is attached to', async (t) => {
    const { agentId } = demonstration;
    const { id } = await rest.post<{ id: string }>(`/v1/orgs/${orgId}/projects/${project}/databases`, {
      name: 'Callers',
      columns: [
        { key: 'caller', label: 'Caller', type: 'phone', source: { from: 'session', path: 'from_number' } },
      ],
    });
    await page.goto(`${url}/projects/${project}/agents/${agentId}?section=analyses`);
    await page.getByRole('combobox', { name: 'Attach a database' }).click();
    await page.getByRole('option', { name: 'Callers' }).click();
    const detach = page.getByRole('button', { name: 'Detach Callers' });
    await detach.waitFor();
    await faults();
    await page.getByRole('combobox', { name: 'Attach a database' }).click();
    await page.getByRole('option', { name: 'Guests' }).waitFor();
    t.equal(await page.getByRole('option', { name: 'Callers' }).count(), 0, 'it is attached once');
    await page.keyboard.press('Escape');

    const { from, outcome } = await desk.place({ carrier: 'plivo', steps: [{ say: 'Goodbye.' }] });
    await outcome;
    await eventually('the row is there', async () => {
      const rows = await rest.get<{ total: number }>(`/v1/databases/${id}/rows`);
      return rows.total > 0;
    });
    await page.goto(`${url}/projects/${project}/databases?record=${id}`);
    await dialog.getByRole('cell', { name: from!, exact: true }).waitFor();
    await dialog.getByText('Lakeside Bistro').waitFor();

    await page.goto(`${url}/projects/${project}/agents/${agentId}?section=analyses`);
    await detach.click();
    await detach.waitFor({ state: 'detached' });
    t.match(await rest.get(`/v1/databases/${id}/agents`), { items: [] });
  });

  await t.test('the export of calls has what the filters leave', async (t) => {
    await page.goto(`${url}/projects/${project}/calls?status=failed`);
    await page.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Calls', exact: true }).click(),
    ]);
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
    t.equal(lines.length, 7, 'those that failed, below the header');
    t.match(lines[1], /llm_error/);
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
    const find = dialog.getByLabel('Find by name or number');
    await find.fill('+919876543211');
    await dialog.getByText('This number is not in the list.').waitFor();
    await find.fill('Nobody at all');
    await dialog.getByText('Nobody in the list has this name.').waitFor();
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

  // A refusal that a page shows is logged by the browser, too.
  t.same(
    problems.filter((problem) => !/status of 409/.test(problem)),
    [],
    'nothing went wrong in the pages',
  );
});
