import type { Page } from 'playwright-core';
import t from 'tap';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { RECORD_KINDS } from '../src/app/record-kinds.ts';
import { OWNER, openConsole, settle, skip } from './fixtures/console-browser.ts';
import { makeRecords } from './fixtures/made-records.ts';
import { PAGES, addressOf } from './fixtures/pages.ts';
import { invite, inviteLink, newBrowser, registerOwner, signIn } from './fixtures/people.ts';
import type { Person } from './fixtures/people.ts';
import { holdTypedCall } from './fixtures/typed-call.ts';

// People of each role and of another org, each with a browser of their own: what they are offered, what is done where they
// ask nevertheless, and what they find out. Only where somebody asks for it (`npm run test:long`).

const ROLES = ['viewer', 'editor', 'admin', 'owner'] as const;
type Role = (typeof ROLES)[number];

/** In every name that people of the other org are not to see. */
const MARK = 'Lakeside';

/** Begins what buttons and switches are called that change something. */
const CHANGES: Readonly<Record<'editor' | 'admin', RegExp>> = {
  editor:
    /^(switch|New|Create|Add|Make|Save|Publish|Discard|Archive$|Duplicate|Begin|No flow|Tidy|Undo|Redo|Run|Restore|Take|Start|Pause|Resume|Redial|Import|Choose|Type$|Talk|Send|Say|End|Redeliver|Ask Plivo|Hand in|Actions for|Buy|Assign|Speak|Skip|Delete)/,
  admin:
    /^(New key|Archive project|Invite|Revoke|Remove|Withdraw|Rotate|Make a secret|Erase|Role of|Delete for good)/,
};

/** Where the ids of records are kept that are listed and shown by their description. */
const RECORD_IDS: Readonly<Record<string, string>> = {
  tools: 'tool_id',
  'knowledge-bases': 'kb_id',
  databases: 'database_id',
  analyses: 'analysis_id',
  'phone-numbers': 'phone_number_id',
  'inbound-deployments': 'inbound_deployment_id',
  'telephony-accounts': 'telephony_account_id',
  'recipient-lists': 'list_id',
};

/** What operations need to find out where they are to act. */
const ASKED: Readonly<
  Record<string, (ids: Readonly<Record<string, string>>) => { query?: string; body: object }>
> = {
  startCall: ({ agent_id }) => ({ body: { agent_id, to_number: '+14155550123' } }),
  speakWithVoice: ({ project_id }) => ({
    query: `?project_id=${project_id}`,
    body: { text: 'Good morning' },
  }),
};
/** The voice that is asked for is one of the catalogue, which is everybody's. */
const OF_ALL = 'getVoice';
/** Reads a file before it knows for which org it is. */
const FILE_FIRST = 'cloneVoice';

interface Operation {
  id: string;
  method: string;
  path: string;
  least: Role;
}

t.setTimeout(900_000);

void t.test(
  'what a role or an org does not allow is neither offered nor possible',
  { skip: skip || (!LONG && 'npm run test:long') },
  async (t) => {
    const opened = await openConsole(t, { REGISTRATION: 'open', PASSWORD_COST_BITS: '10' });
    const { demonstration, platform, problems, project, url } = opened;
    const { orgId, agentId } = demonstration;
    const owner = await signIn(opened, OWNER.email);
    const known = await makeRecords(opened, owner, MARK);
    const stranger = await registerOwner(opened, {
      email: 'olga@example.test',
      name: 'Olga Berg',
      orgName: 'Riverside Clinic',
    });
    const strangersAgent = await stranger.call<{ id: string }>(
      'POST',
      `/v1/orgs/${stranger.orgId}/projects/${stranger.projectId}/agents`,
      { name: 'Night desk' },
    );

    // Whose page follows the calls of her own project while one is held in the other org.
    await stranger.page.goto(`${url}/projects/${stranger.projectId}/calls`);
    await stranger.page.getByText('No calls yet').waitFor();

    const sessionId = await holdTypedCall(opened, owner.page, [`A table at ${MARK}, please`]);
    Object.assign(known, { session_id: sessionId });

    /** What stands for the parameters of pages. */
    const pageIds = {
      projectId: project,
      orgId,
      agentId,
      sessionId,
      campaignId: known['campaign_id']!,
    };
    const description = (await (await fetch(`${platform.localUrl}/openapi.json`)).json()) as {
      paths: Record<
        string,
        Record<string, { operationId: string; 'x-required-role'?: { user?: Role | 'any' } }>
      >;
    };
    const operations = Object.entries(description.paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, about]): Operation[] => {
        const least = about['x-required-role']?.user;
        if (least === undefined || least === 'any') return [];
        return [{ id: about.operationId, method: method.toUpperCase(), path, least }];
      }),
    );
    const fill = (path: string, ids: Readonly<Record<string, string>>) =>
      path.replace(/\{([^}]+)\}/g, (_, name: string) => ids[name] ?? 'nothing');

    const people = new Map<Role, Person>();
    await t.test('somebody is invited in the page, and joins by the mailed link', async (t) => {
      await owner.page.goto(`${url}/orgs/${orgId}/members`);
      const roles = owner.page.getByRole('region', { name: 'What each role may do' });
      await roles.getByRole('row', { name: /^Admin Invites and removes members/ }).waitFor();
      await owner.page.getByRole('button', { name: 'Invite' }).click();
      await owner.page.getByLabel('E-mail').fill('vera@example.test');
      await owner.page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click();
      const invites = owner.page.getByRole('table', { name: 'Invites' });
      await invites
        .getByRole('row', { name: /vera@example.test/ })
        .getByText('Pending')
        .waitFor();
      const link = await inviteLink(opened, 'vera@example.test');
      const context = await newBrowser(opened);
      const page = await context.newPage();
      await page.goto(link);
      await page.getByLabel('Name').fill('Vera Lindt');
      await page.getByLabel('E-mail').fill('vera@example.test');
      await page.getByRole('textbox', { name: 'Password' }).fill(OWNER.password);
      await page.getByRole('button', { name: 'Join' }).click();
      await page.waitForURL(`${url}/projects/${project}/home`);
      await page.goto(link);
      await page.getByRole('button', { name: 'Join with your account' }).click();
      await page.getByRole('alert').waitFor();
      t.notMatch(page.url(), 'token', 'the token is gone from the address');
      await page.close();
      people.set('viewer', await signIn(opened, 'vera@example.test', context));
    });
    for (const role of ['editor', 'admin'] as const)
      people.set(
        role,
        await invite(opened, owner, { orgId, email: `${role}@example.test`, name: role, role }),
      );

    for (const [role, person] of people) {
      const rank = ROLES.indexOf(role);
      await t.test(`what is offered to the ${role}`, async (t) => {
        for (const page of PAGES) {
          await person.page.goto(`${url}${addressOf(page, pageIds)}`);
          await settle(person.page);
          const names = await offered(person.page);
          if (process.env['SHOW']) t.comment(`${page.title}: ${names.join(' | ')}`);
          const mayOpen = ROLES.indexOf(page.role ?? 'viewer') <= rank;
          t.equal(
            await person.page.getByText('Your role does not allow this').count(),
            mayOpen ? 0 : 1,
            page.path,
          );
          const forbidden = Object.entries(CHANGES).flatMap(([least, words]) =>
            rank < ROLES.indexOf(least as Role) ? names.filter((name) => words.test(name)) : [],
          );
          t.same(forbidden, [], `${page.path} offers nothing that is refused`);
          const links = await person.page.getByRole('navigation').getByRole('link').allTextContents();
          const above = PAGES.filter(
            (one) => one.group !== undefined && ROLES.indexOf(one.role ?? 'viewer') > rank,
          );
          t.same(
            above.filter(({ title }) => links.includes(title)),
            [],
            'nor does the navigation',
          );
        }
      });
      await t.test(`what is refused to the ${role}`, async (t) => {
        for (const { id, method, path } of operations.filter(({ least }) => ROLES.indexOf(least) > rank)) {
          const { query = '', body } = ASKED[id]?.(known) ?? {};
          const address = fill(path, known) + query;
          const { status } = await person.call(method, address, body);
          const namesNothing = address.includes('nothing') || id === FILE_FIRST;
          t.ok(namesNothing ? status >= 403 : status === 403, `${id} answers ${status}`);
        }
      });
    }

    await t.test('people of another org find nothing', async (t) => {
      const { page } = stranger;
      t.equal(
        await page.getByRole('row').count(),
        0,
        'calls of others do not appear in the list that follows calls',
      );
      for (const one of PAGES) {
        await page.goto(`${url}${addressOf(one, pageIds)}`);
        await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
        t.notMatch(await page.content(), MARK, one.path);
        if (!/agentId|sessionId|campaignId/.test(one.path)) continue;
        // Their record below her own project.
        await page.goto(`${url}${addressOf(one, { ...pageIds, projectId: stranger.projectId })}`);
        await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
        t.notMatch(await page.content(), MARK, one.path);
      }
      for (const { id } of RECORD_KINDS) {
        const own = known[RECORD_IDS[id] ?? ''];
        if (own === undefined) continue;
        await page.goto(`${url}/projects/${stranger.projectId}/${id}?record=${own}`);
        await page.getByRole('dialog').getByText('There is no such record').waitFor();
        t.notMatch(await page.content(), MARK, id);
      }
      await page.goto(`${url}/projects/${stranger.projectId}/home`);
      await settle(page);
      await page.keyboard.press('Control+K');
      for (const text of [MARK, '+1415555', agentId, sessionId, 'book_table']) {
        await page.getByRole('dialog').getByRole('textbox').fill(text);
        await page.getByText('Nothing has this name, number or id').waitFor();
      }
      for (const { id, method, path } of operations) {
        if (!path.includes('{')) continue;
        const { status, body } = await stranger.call(method, fill(path, known));
        t.notMatch(JSON.stringify(body), MARK, id);
        t.ok(status >= 400 || id === OF_ALL, `${id} answers ${status}`);
      }
      t.equal(strangersAgent.status, 201);
    });

    // A refusal that a page shows is logged by the browser, too.
    t.same(
      problems.filter((problem) => !/status of 404/.test(problem)),
      [],
      'nothing went wrong in the pages',
    );
  },
);

/** What the page that is open lets somebody press or fill in, by its names. */
function offered(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('main :is(button, [role=switch], [role=slider], textarea, input)')].flatMap((one) => {
      const isHidden = one.closest('[hidden], [aria-hidden=true]') !== null || one.offsetParent === null;
      if (isHidden || one.disabled || one.readOnly) return [];
      const label = one.labels?.[0]?.textContent ?? '';
      const kind = one.matches('[role=switch]') ? 'switch ' : '';
      return [kind + (one.ariaLabel ?? (one.textContent || label || one.placeholder)).trim()];
    })`,
  );
}
