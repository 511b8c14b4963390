import { newId } from '@parley/shared/ids/new-id';
import type { Locator } from 'playwright-core';
import t from 'tap';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, settle, skip } from './fixtures/console-browser.ts';
import { fill, fillCalls } from './fixtures/many-records.ts';
import { signIn } from './fixtures/people.ts';

// Lists of which the API gives a page at a time, to their ends, in a browser: only where somebody asks for it
// (`npm run test:long`).

/** More than two pages of any list. */
const MANY = 250;

t.setTimeout(900_000);

void t.test('lists go on to their ends', { skip: skip || (!LONG && 'npm run test:long') }, async (t) => {
  const opened = await openConsole(t);
  const { demonstration, problems, project, url } = opened;
  const { agentId, orgId, rest } = demonstration;
  const { page } = await signIn(opened, OWNER.email);
  const inProject = `/v1/orgs/${orgId}/projects/${project}`;
  const at = (n: number) => ({ created_at: new Date(Date.now() - n * 1000), updated_at: new Date() });
  const ofOrg = (n: number) => ({ ...at(n), org_id: orgId });
  const ofProject = (n: number) => ({ ...ofOrg(n), project_id: project });
  const ofAgent = (n: number) => ({ ...ofProject(n), agent_id: agentId });
  const ids = (prefix: string) => {
    const made = Array.from({ length: MANY }, (_, n) => newId(prefix, n + 1));
    return (n: number) => made[n]!;
  };
  const post = async (path: string, body: object) => (await rest.post<{ id: string }>(path, body)).id;

  const [people, members, runs] = [ids('usr'), ids('mem'), ids('trn')];
  await fill(opened, 'users', MANY, (n) => ({
    ...{ _id: people(n), email: `person${n}@example.test`, name: `Person ${n}`, password_hash: 'none' },
  }));
  await fill(opened, 'members', MANY - 1, (n) => ({
    ...ofOrg(n),
    ...{ _id: members(n), user_id: people(n), role: 'viewer', status: 'active' },
  }));
  await fill(opened, 'invites', MANY, (n) => ({
    ...ofOrg(n),
    ...{ _id: newId('inv', n + 1), email: `invited${n}@example.test`, role: 'viewer', status: 'pending' },
    ...{ expires_at: new Date(Date.now() + 3_600_000), invited_by: people(0), digest: `digest ${n}` },
  }));
  await fill(opened, 'rate_limit_configs', MANY, (n) => ({
    ...ofProject(n),
    ...{
      _id: newId('rlc', n + 1),
      agent_id: `agt_${n}`,
      resource: 'tool_calls',
      limit: 9,
      window_seconds: 60,
    },
  }));
  await fill(opened, 'audit_entries', MANY, (n) => ({
    ...ofProject(n),
    ...{ _id: newId('aud', n + 1), actor: people(n), action: 'member.removed', target: people(n) },
    expires_at: new Date(Date.now() + 3_600_000),
  }));
  await fill(opened, 'webhook_deliveries', MANY, (n) => ({
    ...ofAgent(n),
    ...{ _id: newId('whd', n + 1), session_id: `session ${n}`, event: 'call.ended', url: 'https://a.test' },
    ...{ status: 'delivered', lease_until: new Date(0) },
  }));
  await fill(opened, 'agent_test_runs', MANY, (n) => ({
    ...ofAgent(n),
    ...{
      _id: runs(n),
      agent_version: 1,
      status: 'completed',
      total: MANY,
      passed: MANY,
      created_by: people(0),
    },
  }));
  await fill(opened, 'agent_test_results', MANY, (n) => ({
    ...ofAgent(n),
    ...{ _id: newId('trs', n + 1), test_run_id: runs(0), test_id: `tst_${n}`, iteration: 1, content: '{}' },
    status: 'passed',
  }));
  await rest.post(`/v1/agents/${agentId}/tests`, {
    ...{ name: 'Opening hours', type: 'scripted', turns: [{ caller: 'When do you open?' }] },
  });
  const list = await post(`${inProject}/recipient-lists`, { name: 'Very many', kind: 'recipients' });
  const numbers = Array.from({ length: MANY }, (_, n) => ({ phone_number: `+1415555${1000 + n}` }));
  await rest.post(`/v1/recipient-lists/${list}/recipients`, { recipients: numbers });
  await fill(opened, 'recipient_lists', MANY, (n) => ({
    ...ofProject(n + 10),
    ...{ _id: newId('rcl', n + 1), name: `Guests ${n}`, kind: 'recipients' },
  }));
  const campaign = await post(`${inProject}/campaigns`, { name: 'Very many', agent_id: agentId });
  await rest.post(`/v1/campaigns/${campaign}/contacts`, { contacts: numbers });
  const base = await post(`${inProject}/knowledge-bases`, { name: 'Very many' });
  await fill(opened, 'knowledge_files', MANY, (n) => ({
    ...ofProject(n),
    ...{ _id: newId('kbf', n + 1), knowledge_base_id: base, type: 'text', name: `File ${n}` },
    ...{ content_key: `${n}`, status: 'ready' },
  }));
  const database = await post(`${inProject}/databases`, {
    name: 'Very many',
    columns: [{ key: 'party_size', label: 'Guests', type: 'number' }],
  });
  await fill(opened, 'database_rows', MANY, (n) => ({
    ...ofProject(n),
    ...{ _id: newId('row', n + 1), database_id: database, source: 'api', values: { party_size: n } },
  }));
  await fillCalls(opened, MANY);

  const drawer = page.getByRole('dialog');
  /** Lists of which only what is in sight is in the page. */
  const tables: [name: string, path: string][] = [
    ['Members', `orgs/${orgId}/members`],
    ['Invites', `orgs/${orgId}/members`],
    ['Rate limits', `orgs/${orgId}/rate-limits`],
    ['Audit trail', `orgs/${orgId}/audit`],
    ['Calls', `projects/${project}/calls`],
    ['Contacts', `projects/${project}/campaigns/${campaign}`],
  ];
  for (const [name, path] of tables)
    await t.test(name.toLowerCase(), async () => {
      await page.goto(`${url}/${path}`);
      const table = page.getByRole('table', { name, exact: true });
      await table.getByRole('row').nth(1).focus();
      await page.keyboard.press('End');
      await eventually('all rows are there', () =>
        page.evaluate<boolean>(
          `(() => {
            const table = document.querySelector('[role=table][aria-label="${name}"]');
            const scroller = table?.parentElement;
            if (scroller) scroller.scrollTop = scroller.scrollHeight;
            return Number(table?.getAttribute('aria-rowcount')) > ${MANY};
          })()`,
        ),
      );
    });

  /** Lists of which more is asked for by a button. */
  const others: [name: string, path: string, rows: Locator, open?: () => Promise<void>][] = [
    ['recipients', `recipient-lists?record=${list}`, drawer.getByRole('row', { name: /\+1415555/ })],
    ['files', `knowledge-bases?record=${base}`, drawer.getByRole('row', { name: /^File \d/ })],
    ['rows of a database', `databases?record=${database}`, drawer.getByRole('row', { name: /^\d+$/ })],
    ['deliveries', `agents/${agentId}/advance`, page.getByRole('row', { name: /Delivered/ })],
    ['test runs', `agents/${agentId}/tests`, page.getByRole('row', { name: /250 \/ 250/ })],
    [
      'test results',
      `agents/${agentId}/tests`,
      drawer.getByRole('button', { name: /A test that was deleted/ }),
      () =>
        page
          .getByRole('row', { name: /250 \/ 250/ })
          .first()
          .getByRole('button')
          .click(),
    ],
  ];
  for (const [name, path, rows, open] of others)
    await t.test(name, async (t) => {
      await page.goto(`${url}/projects/${project}/${path}`);
      await settle(page);
      await open?.();
      await rows.nth(99).waitFor();
      t.equal(await rows.count(), 100);
      const more = (open || path.includes('record=') ? drawer : page).getByRole('button', {
        name: 'Load more',
      });
      await more.click();
      await rows.nth(199).waitFor();
      await more.click();
      await rows.nth(MANY - 1).waitFor();
      await more.waitFor({ state: 'detached' });
    });

  await t.test('a grid has the labels of its columns', async () => {
    await page.goto(`${url}/projects/${project}/databases?record=${database}`);
    await drawer.getByRole('columnheader', { name: 'Guests' }).waitFor();
  });

  await t.test('the last of very many can be chosen', async () => {
    await page.goto(`${url}/projects/${project}/campaigns/new`);
    await page.getByRole('textbox', { name: 'Name' }).fill('Renewals');
    await page.getByRole('combobox', { name: 'Agent' }).click();
    await page.getByRole('option').first().click();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('List', { exact: true }).click();
    await page.getByRole('combobox', { name: 'List' }).fill('Guests 249');
    await page.getByRole('option', { name: /^Guests 249/ }).waitFor();
    await page.goto(`${url}/orgs/${orgId}/audit`);
    await page.getByRole('combobox', { name: 'Who' }).fill('Person 248');
    await page.getByRole('option', { name: 'Person 248' }).waitFor();
  });

  t.same(problems, [], 'nothing went wrong in the pages');
});
