import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import t from 'tap';
import { CALLER_LINES } from '../../embedded/src/demonstration/script.ts';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, settle, skip } from './fixtures/console-browser.ts';
import { invite, signIn } from './fixtures/people.ts';
import { holdTypedCall } from './fixtures/typed-call.ts';

// Calls and campaigns while somebody works with them, in a browser: only where somebody asks for it (`npm run test:long`).

interface Call {
  session_id: string;
  agent_id: string | null;
  direction: string;
  status: string;
  hangup_reason: string | null;
  failure_reason: string | null;
  duration_seconds: number | null;
  detail: {
    agent_version: number | null;
    to_number: string | null;
    campaign_id: string | null;
    outcome: string | null;
  };
}

t.setTimeout(900_000);

void t.test(
  'calls are led, found and counted',
  { skip: skip || (!LONG && 'npm run test:long') },
  async (t) => {
    const opened = await openConsole(t);
    const { demonstration, desk, problems, project, url } = opened;
    const { agentId, orgId, rest } = demonstration;
    const owner = await signIn(opened, OWNER.email);
    const colleague = await invite(opened, owner, {
      ...{ orgId, email: 'eve@example.test', name: 'Eve Stone', role: 'editor' },
    });
    const { page } = colleague;
    const inProject = `/v1/orgs/${orgId}/projects/${project}`;
    const dialog = page.getByRole('dialog');
    const { body: members } = await owner.call<{ items: { id: string; email: string }[] }>(
      'GET',
      `/v1/orgs/${orgId}/members`,
    );
    const member = members.items.find(({ email }) => email === 'eve@example.test')!;
    /** What the page still offers is refused from now on, or allowed again. */
    const become = async (role: 'viewer' | 'editor') => {
      const { status } = await owner.call('PATCH', `/v1/members/${member.id}`, { role });
      if (status !== 200) throw new Error(`The role is not changed: ${status}`);
    };
    const refusal = (where: Page | Locator) =>
      where.getByRole('alert').filter({ hasText: 'Your role does not allow this' }).getByText(/req_/);
    /** Rings, and opens the call while it is held. @returns the id of its session */
    const hold = async () => {
      const placed = await desk.place({
        carrier: 'plivo',
        to: demonstration.lines.plivo!.number,
        steps: [{ say: CALLER_LINES.hours }, { pause_ms: 60_000 }, { pause_ms: 60_000 }],
      });
      placed.outcome.catch(() => undefined);
      await page.goto(`${url}/projects/${project}/calls`);
      await page.getByRole('row', { name: /In progress/ }).click();
      await live.getByText('When do you close?').waitFor();
      return /[0-9a-f-]{36}/.exec(page.url())![0];
    };
    const live = page.getByRole('region', { name: 'Live call' });

    await t.test('what a live call is told, and its end, are refused in words and tried again', async (t) => {
      const id = await hold();
      const say = page.getByLabel('Have the agent say');
      const event = page.getByLabel('Send an event');
      const end = page.getByRole('button', { name: 'End the call' });
      await become('viewer');
      await say.fill('Your table is ready.');
      await page.getByRole('button', { name: 'Say', exact: true }).click();
      await refusal(page.locator('main')).waitFor();
      t.equal(await say.inputValue(), 'Your table is ready.', 'what was typed is kept');
      await end.click();
      await dialog.getByRole('button', { name: 'End the call' }).click();
      await refusal(dialog).waitFor();
      await become('editor');
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('button', { name: 'Say', exact: true }).click();
      await live.getByText('Your table is ready.').first().waitFor();
      await eventually('it is sent once', async () => (await say.inputValue()) === '');
      t.equal(await page.locator('main').getByRole('alert').count(), 0, 'the old refusal is gone');
      await become('viewer');
      await event.fill('payment_confirmed');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await refusal(page.locator('main')).waitFor();
      await become('editor');
      await event.press('Enter');
      await eventually('it is sent', async () => (await event.inputValue()) === '');
      t.equal(await page.locator('main').getByRole('alert').count(), 0);
      await end.click();
      t.equal(await dialog.getByRole('alert').count(), 0, 'an old refusal is not said of the next try');
      await dialog.getByRole('button', { name: 'End the call' }).click();
      await live.waitFor({ state: 'detached' });
      await page.getByRole('region', { name: 'Transcript' }).getByText('Your table is ready.').waitFor();
      t.match(await rest.get(`/v1/sessions/${id}`), { status: 'ended' });
    });

    await t.test('a recording that could not be loaded says so, and is asked for again', async () => {
      const play = page.locator('[aria-label=Play]:not([disabled])');
      await play.waitFor();
      // The line breaks off.
      await page.route('**/recordings/*/content', (route) => route.abort());
      await page.reload();
      const timeline = page.getByRole('region', { name: 'Timeline' });
      await timeline.getByText('The recording could not be loaded.').waitFor();
      await page.unroute('**/recordings/*/content');
      await timeline.getByRole('alert').getByRole('button', { name: 'Try again' }).click();
      await play.waitFor();
      await timeline.getByRole('alert').waitFor({ state: 'detached' });
    });

    await t.test('a word is gone to, and heard, by keyboard', async (t) => {
      const said = page.getByRole('region', { name: 'Transcript' }).locator('.turn-agent .words').first();
      await said.focus();
      for (let word = 0; word < 3; word++) await page.keyboard.press('ArrowRight');
      t.equal(await said.locator('.chosen').getAttribute('data-word'), '2');
      await page.keyboard.press('Enter');
      await eventually('it is heard from there', () =>
        page.evaluate<boolean>(
          "Number(document.querySelector('.turn-agent .words .lit')?.dataset.word) >= 2",
        ),
      );
    });

    await t.test('who may not follow a call any more is told so, and follows it again', async () => {
      const email = 'kim@example.test';
      const kim = await invite(opened, owner, { ...{ orgId, email, name: 'Kim Ross', role: 'viewer' } });
      const id = await hold();
      await kim.page.goto(`${url}/projects/${project}/calls/${id}`);
      const followed = kim.page.getByRole('region', { name: 'Live call' });
      await followed.getByText('When do you close?').waitFor();
      const { body: all } = await owner.call<typeof members>('GET', `/v1/orgs/${orgId}/members`);
      const own = all.items.find((one) => one.email === email)!;
      await owner.call('DELETE', `/v1/members/${own.id}`);
      await followed.getByRole('alert').getByText(/req_/).waitFor();
      await followed.getByText('When do you close?').waitFor();
      await owner.call('POST', `/v1/orgs/${orgId}/invites`, { email, role: 'viewer' });
      const link = await eventually('the second mail', () =>
        Promise.resolve(opened.mails().filter(({ to }) => to === email)[1]?.text),
      );
      const token = new URL(/http\S+/.exec(link)![0]).searchParams.get('token')!;
      await kim.call('POST', '/auth/v1/invites/accept', { token });
      await followed.getByRole('button', { name: 'Follow it again' }).click();
      await followed.getByText('Following', { exact: true }).waitFor();
      await followed.getByRole('alert').waitFor({ state: 'detached' });
      await rest.post(`/v1/sessions/${id}/end`, {});
      await followed.waitFor({ state: 'detached' });
      await kim.context.close();
      await live.waitFor({ state: 'detached' });
    });

    await t.test('a transfer that is refused says why, and is tried again', async (t) => {
      const id = await hold();
      await page.getByRole('button', { name: 'Take over' }).click();
      await dialog.getByRole('combobox', { name: 'To' }).click();
      await page.getByRole('option', { name: 'A number of your own' }).click();
      await dialog.getByLabel('Number').fill('the manager');
      await dialog.getByRole('button', { name: 'Transfer' }).click();
      await dialog
        .getByRole('alert')
        .getByText(/phone_number/)
        .waitFor();
      t.equal(await dialog.getByLabel('Number').inputValue(), 'the manager');
      await dialog.getByRole('combobox', { name: 'To' }).click();
      await page.getByRole('option').first().click();
      await dialog.getByRole('button', { name: 'Transfer' }).click();
      await dialog.waitFor({ state: 'detached' });
      await eventually('it is brought to the manager', async () => {
        const { items } = await rest.get<{ items: { type: string }[] }>(`/v1/sessions/${id}/events`);
        return items.some(({ type }) => type === 'transfer');
      });
      await live.waitFor({ state: 'detached' });
    });

    await t.test('a call is made into one test, whatever fails on the way', async (t) => {
      const lines = [CALLER_LINES.booking, CALLER_LINES.day];
      await holdTypedCall(opened, page, lines, 'booked for');
      const begin = page.getByRole('button', { name: 'Make a test' });
      const name = dialog.getByRole('textbox', { name: 'Name' });
      const make = dialog.getByRole('button', { name: 'Make the test' });
      const tests = async () =>
        (
          await rest.get<{ items: { name: string; turns: { caller: string }[]; tool_mocks: object[] }[] }>(
            `/v1/agents/${agentId}/tests`,
          )
        ).items;
      await page.route('**/v1/tests/*', async (route) => {
        await become('viewer');
        await route.continue();
      });
      await begin.click();
      await name.fill('Books for two');
      await dialog.getByRole('checkbox', { name: /^Tools answer as they did in this call/ }).waitFor();
      await make.click();
      await refusal(dialog).waitFor();
      t.equal(await name.inputValue(), 'Books for two');
      t.match(await tests(), [{ name: 'Books for two', tool_mocks: [] }]);
      await page.unroute('**/v1/tests/*');
      await become('editor');
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'detached' });
      await begin.click();
      t.equal(await dialog.getByRole('alert').count(), 0, 'what went wrong is not said of the next try');
      await name.fill('Books for two again');
      await make.click();
      await page.getByText('The test is made').waitFor();
      const made = await tests();
      t.match(made, [
        { name: 'Books for two again', turns: [{ caller: /table for two/ }, {}], tool_mocks: [{}] },
      ]);
      t.equal(made.length, 1, 'it is the one that was begun');
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download' }).click();
      await page.getByRole('menuitem', { name: /subtitles/ }).click();
      t.match(await readFile(await (await download).path(), 'utf8'), /^WEBVTT/);
    });

    await t.test('a campaign is filled by hand, paused, resumed and dialled again', async (t) => {
      const campaign = await rest.post<{ id: string }>(`${inProject}/campaigns`, {
        name: 'By hand',
        agent_id: agentId,
        calling_hours: null,
        retry: { retry_on: ['busy'] },
      });
      await page.goto(`${url}/projects/${project}/campaigns/${campaign.id}`);
      await page.getByText('No contacts yet').waitFor();
      const add = async (number: string, name: string) => {
        await dialog.waitFor({ state: 'detached' });
        await page.getByRole('button', { name: 'Add', exact: true }).click();
        await dialog.getByLabel('Number').fill(number);
        await dialog.getByLabel('Name').fill(name);
        await dialog.getByRole('button', { name: 'Add', exact: true }).click();
      };
      await add('hello', 'Nobody');
      await dialog.getByText('This is no telephone number.').waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await dialog.getByLabel('Number').waitFor();
      t.equal(
        await dialog.getByRole('alert').count(),
        0,
        'what was wrong before is not said of the next one',
      );
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      const contacts = page.getByRole('table', { name: 'Contacts' });
      await add('+1 415 555 0903', 'Ada Lovelace');
      await contacts.getByRole('row', { name: /Ada Lovelace/ }).waitFor();
      await add('+14155550903', 'Ada again');
      await dialog.getByText('This number is a contact already.').waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await add('+14155550901', 'Busy Bee');
      await add('+14155550191', 'Charles');
      await contacts.getByRole('row', { name: /Charles/ }).click();
      await dialog.getByRole('textbox', { name: 'Name' }).fill('Charles Babbage');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await contacts.getByRole('row', { name: /Charles Babbage/ }).waitFor();
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await page
        .getByRole('dialog', { name: 'Delete the contact?' })
        .getByRole('button', { name: 'Delete' })
        .click();
      await contacts.getByRole('row', { name: /Charles/ }).waitFor({ state: 'detached' });

      await page.getByRole('button', { name: 'Start', exact: true }).click();
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.getByText('Somebody paused it.').waitFor();
      await page.getByRole('button', { name: 'Resume' }).click();
      await page.getByText('Somebody paused it.').waitFor({ state: 'detached' });
      await contacts
        .getByRole('row', { name: /Busy Bee/ })
        .getByText('Waiting retry')
        .waitFor();
      await contacts
        .getByRole('row', { name: /Ada Lovelace/ })
        .getByText('Failed', { exact: true })
        .waitFor();
      const outcomes = page.getByRole('region', { name: 'Outcomes over time' });
      await outcomes
        .getByRole('listitem')
        .filter({ hasText: /^Busy: 1$/ })
        .waitFor();
      await outcomes.getByRole('row', { name: /busy 1/ }).waitFor({ state: 'attached' });
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Export' }).click();
      t.match(await readFile(await (await download).path(), 'utf8'), /\+14155550903/);
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.getByText('Somebody paused it.').waitFor();
      await page.getByRole('button', { name: 'Redial' }).click();
      await dialog.getByRole('checkbox').first().waitFor();
      for (const box of await dialog.getByRole('checkbox').all()) await box.check();
      await dialog.getByRole('button', { name: 'Redial' }).click();
      await page.getByText('1 contact is to be called again.').waitFor();
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Cancel', exact: true }).click();
      await dialog.getByText('2 contacts are not called any more').waitFor();
      await dialog.getByRole('button', { name: 'Cancel the campaign' }).click();
      await page.getByText('Cancelled', { exact: true }).first().waitFor();
    });

    await t.test('calls are narrowed by everything that is known of them', async (t) => {
      const { id: other } = await rest.post<{ id: string }>(`${inProject}/agents`, {
        name: 'Night desk',
        greeting: 'Night desk. How can I help you?',
      });
      let version = 1;
      for (const system_prompt of [
        'You are a desk.',
        'You are the night desk.',
        'You are the desk at night.',
      ])
        ({ version } = await rest.patch<{ version: number }>(`/v1/agents/${other}`, { system_prompt }));
      await holdTypedCall({ ...opened, demonstration: { ...demonstration, agentId: other } }, page, [
        'Hello',
      ]);
      const path = `${inProject}/sessions?limit=100&detail=true`;
      const known = await eventually('all calls are over', async () => {
        const { items } = await rest.get<{ items: Call[] }>(path);
        return items.every(({ status }) => ['ended', 'transferred', 'failed'].includes(status)) && items;
      });
      // What an inbound treatment or an analysis would have found out.
      const { services, features } = opened.platform.controlPlane;
      const sessions = services.database.model(features.collections.find(({ name }) => name === 'sessions')!);
      const sold = known.find(({ direction }) => direction === 'inbound')!;
      await sessions.collection.updateOne({ _id: sold.session_id as never }, { $set: { outcome: 'sold' } });
      const calls = (await rest.get<{ items: Call[] }>(path)).items;
      const lengths = calls.flatMap(({ duration_seconds }) => duration_seconds ?? []).sort((a, b) => a - b);
      const middle = Math.ceil(lengths[lengths.length >> 1]!);
      const outbound = calls.find(({ direction }) => direction === 'outbound')!;

      const main = `${url}/projects/${project}/calls`;
      await page.goto(main);
      await settle(page);
      const columns = page.getByRole('button', { name: 'Columns' });
      await columns.press('Enter');
      await page.getByRole('menuitemcheckbox', { name: 'Call ID' }).press('Enter');
      await page.getByRole('menuitemcheckbox', { name: 'Call ID', checked: true }).waitFor();
      await page.keyboard.press('Escape');
      const table = page.getByRole('table', { name: 'Calls' });
      const shown = () => table.locator('code').allTextContents();
      const field = (label: string) => page.getByLabel(label, { exact: true });
      const type = (label: string, text: string) => () => field(label).pressSequentially(text);
      const choose = (label: string, option: string) => async () => {
        await page.getByRole('combobox', { name: label, exact: true }).click();
        await page.getByRole('option', { name: option, exact: true }).click();
      };
      const filters: [string, () => Promise<void>, (call: Call) => boolean][] = [
        ['Agent', choose('Agent', 'Night desk'), ({ agent_id }) => agent_id === other],
        ['version', type('Agent version', `${version}`), ({ detail }) => detail.agent_version === version],
        ['status', choose('Status', 'Failed'), ({ status }) => status === 'failed'],
        ['direction', choose('Direction', 'Inbound'), ({ direction }) => direction === 'inbound'],
        [
          'end',
          choose('How it ended', 'Ended by API'),
          ({ hangup_reason }) => hangup_reason === 'api_hangup',
        ],
        ['failure', choose('Why it failed', 'Busy'), ({ failure_reason }) => failure_reason === 'busy'],
        ['outcome', type('Outcome', 'sold'), ({ detail }) => detail.outcome === 'sold'],
        [
          'number',
          type('Number, whole', outbound.detail.to_number!),
          ({ detail }) => detail.to_number === outbound.detail.to_number,
        ],
        [
          'campaign',
          choose('Campaign', 'By hand'),
          ({ detail }) => detail.campaign_id === outbound.detail.campaign_id,
        ],
        ['at least', type('Lasted at least', `${middle}s`), ({ duration_seconds: s }) => (s ?? 0) >= middle],
        [
          'at most',
          type('Lasted at most', `0:${String(middle).padStart(2, '0')}`),
          ({ duration_seconds: s }) => s !== null && s <= middle,
        ],
      ];
      for (const [what, narrow, fits] of filters) {
        await page.getByRole('button', { name: /^Filters/ }).click();
        await narrow();
        const wanted = calls.filter(fits).map(({ session_id }) => session_id);
        t.ok(wanted.length > 0 && wanted.length < calls.length, `${what} tells calls apart`);
        const isNarrowed = async () => same(await shown(), wanted);
        await t.resolves(eventually(`by ${what}`, isNarrowed, 10_000), `narrowed by ${what}`);
        await page.getByRole('button', { name: 'Clear', exact: true }).click();
        await eventually('all of them again', async () => (await shown()).length === calls.length);
      }
      // By the end of a number, and by what was said, as they are typed.
      const digits = outbound.detail.to_number!.slice(-4);
      await field('Search calls').pressSequentially(digits);
      const ends = calls.filter(({ detail }) => detail.to_number?.endsWith(digits));
      await eventually('by the end of a number', async () =>
        same(
          await shown(),
          ends.map(({ session_id }) => session_id),
        ),
      );
      await field('Search calls').fill('');
      await page.getByRole('button', { name: /^Filters/ }).click();
      await type('Said in the call', 'table is ready')();
      await eventually('by what was said', async () => (await shown()).length === 1);
      await field('Said in the call').fill('');
      await field('Until').fill('2020-01-01T00:00');
      await page.getByText('No call fits').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Clear the filters' }).click();
      await page.getByRole('combobox', { name: 'Time', exact: true }).click();
      await page.getByRole('option', { name: 'Last 24 hours' }).click();
      await page.waitForURL(/period=24h/);
      await eventually('all were today', async () => (await shown()).length === calls.length);

      // What the filters leave, as a file.
      await page.getByRole('button', { name: /^Filters/ }).click();
      await choose('Direction', 'Web')();
      const web = calls.filter(({ direction }) => direction === 'web').length;
      await eventually('those of the web', async () => (await shown()).length === web);
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Export', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Calls', exact: true }).click();
      const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\n');
      t.equal(lines.length, web + 1, 'a head, and a line for each');

      // A new one stands there by itself, as far as it fits, and tells how it is.
      await page.goto(`${main}?direction=%5B%22inbound%22%5D`);
      await settle(page);
      const before = (await shown()).length;
      const placed = await desk.place({
        carrier: 'plivo',
        to: demonstration.lines.plivo!.number,
        steps: [{ say: CALLER_LINES.hours }, { hang_up: true }],
      });
      await table.getByRole('row', { name: /In progress/ }).waitFor();
      t.equal((await shown()).length, before + 1);
      await placed.outcome.catch(() => undefined);
      await table.getByRole('row', { name: /In progress/ }).waitFor({ state: 'detached' });
    });

    await t.test('filters and columns are kept as a view', async (t) => {
      await page.goto(`${url}/projects/${project}/calls`);
      await settle(page);
      const table = page.getByRole('table', { name: 'Calls' });
      const column = table.getByRole('columnheader', { name: 'Carrier' });
      t.equal(await column.count(), 0);
      await page.getByRole('button', { name: 'Columns' }).press('Enter');
      await page.getByRole('menuitemcheckbox', { name: 'Carrier' }).press('Enter');
      await page.keyboard.press('Escape');
      await column.waitFor();
      await page.getByRole('button', { name: 'Filters' }).click();
      await page.getByRole('combobox', { name: 'Direction' }).click();
      await page.getByRole('option', { name: 'Inbound' }).click();
      await page.waitForURL(/direction=/);
      // The choice, then what it is in.
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Views' }).click();
      await page.getByLabel('Name of the view').fill('From outside');
      await page.keyboard.press('Enter');
      await page.getByRole('menuitem', { name: 'From outside', exact: true }).waitFor();
      await page.keyboard.press('Escape');
      await page.goto(`${url}/projects/${project}/calls`);
      await settle(page);
      const all = await table.getByRole('row').count();
      await page.getByRole('button', { name: 'Views' }).click();
      await page.getByRole('menuitem', { name: 'From outside', exact: true }).click();
      await page.waitForURL(/direction=/);
      await eventually('fewer are shown', async () => (await table.getByRole('row').count()) < all);
      await page.getByRole('menuitem', { name: 'Remove the view From outside' }).click();
      await page.getByText('A view keeps filters and columns').waitFor();
    });

    await t.test('usage is looked at and taken along', async (t) => {
      await page.goto(`${url}/orgs/${orgId}/usage`);
      await settle(page);
      await page.getByRole('combobox', { name: 'Project' }).click();
      await page.getByRole('option').first().click();
      await page.getByRole('region', { name: 'Usage by day' }).getByRole('row').nth(1).waitFor();
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Export CSV' }).first().click();
      t.match(await readFile(await (await download).path(), 'utf8'), /\d{4}-\d\d-\d\d/);
      await page.getByRole('combobox', { name: 'Days' }).click();
      await page.getByRole('option').last().click();
      await page.getByLabel('From').fill('2020-01-02');
      await page.getByLabel('To').fill('2020-01-01');
      await page.locator('main').getByRole('alert').waitFor();
    });

    t.same(
      problems.filter((problem) => !/status of 4(04|09|22)|ERR_FAILED/.test(problem)),
      [],
      'nothing went wrong in the pages',
    );
  },
);

function same(some: readonly string[], others: readonly string[]): boolean {
  return [...some].sort().join() === [...others].sort().join();
}
