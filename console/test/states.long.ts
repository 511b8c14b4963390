import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { openFailingDatabase } from '../../embedded/test/fixtures/system/failing-database.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { RECORD_KINDS } from '../src/app/record-kinds.ts';
import { OWNER, openConsole, settle, skip } from './fixtures/console-browser.ts';
import { Front } from './fixtures/front.ts';
import { makeRecords } from './fixtures/made-records.ts';
import { PAGES, addressOf } from './fixtures/pages.ts';
import type { ConsolePage } from './fixtures/pages.ts';
import { registerOwner, signIn } from './fixtures/people.ts';
import { holdTypedCall } from './fixtures/typed-call.ts';

// Each page while its records are on their way, when they cannot be had, and when there are none. Only where somebody asks for
// it (`npm run test:long`).

/** Can be used before anything has come: it only asks once a list is to be chosen. */
const AT_ONCE = 'New campaign';
/** What says that something is on its way. */
const ON_ITS_WAY =
  'main :is([role=status][aria-label^=Loading], .mantine-Skeleton-root, .mantine-Loader-root, [aria-busy=true])';

t.setTimeout(1_800_000);

void t.test('every page in every state', { skip: skip || (!LONG && 'npm run test:long') }, async (t) => {
  const owned = new DisposableList();
  t.teardown(() => owned.dispose());
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-states-'));
  owned.defer(() => rm(folder, { recursive: true, force: true }));
  const database = await openFailingDatabase(folder, owned);
  const front = owned.add(await Front.open());
  const opened = await openConsole(t, {
    MONGODB_URI: database.uri,
    PUBLIC_URL: `http://127.0.0.1:${front.port}`,
    REGISTRATION: 'open',
    PASSWORD_COST_BITS: '10',
  });
  const { demonstration, platform, problems, project, url } = opened;
  front.target = platform.controlPlane.port;
  const { orgId, agentId } = demonstration;
  const owner = await signIn(opened, OWNER.email);
  const { page } = owner;
  const known = await makeRecords(opened, owner, 'Lakeside');
  const ids = {
    projectId: project,
    orgId,
    agentId,
    campaignId: known['campaign_id']!,
    sessionId: await holdTypedCall(opened, page, ['When do you close?']),
  };
  /** Opens another page than `one`, with nothing kept of what was read before. */
  const startAwayFrom = async ({ title }: ConsolePage) => {
    await page.goto(
      title === 'Project' ? `${url}/orgs/${orgId}/feature-flags` : `${url}/projects/${project}/settings`,
    );
    await settle(page);
  };
  /** Goes on within the page that is open, as links do. */
  const goOn = (address: string) => page.evaluate(`history.pushState(null, '', ${JSON.stringify(address)})`);
  const alerts = page.locator('main').getByRole('alert').filter({ hasText: 'This did not work' });

  await t.test('what is on its way is shown to be', async (t) => {
    for (const one of PAGES) {
      await startAwayFrom(one);
      front.hold();
      await goOn(addressOf(one, ids));
      if (one.title !== AT_ONCE)
        await t.resolves(
          page.locator(ON_ITS_WAY).first().waitFor(),
          `${one.path} says that it is on its way`,
        );
      front.release();
      await settle(page);
      t.equal(await alerts.count(), 0, `${one.path} is there`);
    }
  });

  await t.test('what cannot be had says so, and is there when it is asked for again', async (t) => {
    for (const one of PAGES) {
      if (one.title === AT_ONCE) continue;
      await startAwayFrom(one);
      database.mode = 'failing';
      await goOn(addressOf(one, ids));
      await t.resolves(alerts.first().waitFor(), `${one.path} says what is wrong`);
      await settle(page);
      for (const alert of await alerts.all()) {
        const text = (await alert.textContent())!;
        t.match(text, /req_\w+/, `${one.path} names the request`);
        t.match(text, /Try again/, `${one.path} can be asked again`);
      }
      database.mode = 'well';
      await eventually(`${one.path} is there again`, async () => {
        const again = alerts.getByRole('button', { name: 'Try again' }).first();
        if ((await again.count()) === 0) return true;
        // Another of the same page may have brought it meanwhile.
        await again.click({ timeout: 5000 }).catch(() => undefined);
        await settle(page);
        return (await alerts.count()) === 0;
      });
      t.ok((await page.getByRole('heading', { level: 1 }).count()) > 0, `${one.path} has its title`);
    }
  });

  await t.test('what is shown stays where it cannot be read again', async (t) => {
    const later = await owner.context.newPage();
    await later.clock.install();
    const content = later.locator('main');
    const notice = content.getByRole('status').filter({ hasText: /Not up to date since \d\d:\d\d:\d\d/ });
    const within = `/projects/${project}`;
    const places: [address: string, what: string][] = [
      [`${within}/home`, '[role=row]'],
      [`${within}/calls`, '[role=row]'],
      [`${within}/calls/${ids.sessionId}`, 'text=When do you close?'],
      [`${within}/agents`, 'tbody tr, [role=row]'],
      [`${within}/agents/${agentId}`, 'textarea'],
      [`${within}/campaigns/${ids.campaignId}`, 'h1'],
      [`${within}/databases`, 'tbody tr'],
      [`/orgs/${orgId}/members`, '[role=row]'],
    ];
    for (const [address, what] of places) {
      await later.goto(`${url}${address}`);
      await settle(later);
      const before = await content.locator(what).count();
      t.ok(before > 0, `${address} shows something`);
      database.mode = 'failing';
      await later.clock.fastForward(61_000);
      await later.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
      await eventually(`${address} says since when`, async () => {
        // Each question is asked three times, some seconds apart.
        await later.clock.fastForward(5000);
        return (await notice.count()) > 0;
      });
      t.match(await notice.textContent(), /Request req_\w+Try again/, `${address} names the request`);
      t.equal(await content.locator(what).count(), before, `${address} shows what it did`);
      t.equal(await content.getByText('This did not work').count(), 0, address);
      database.mode = 'well';
      await eventually(`${address} is up to date again`, async () => {
        if ((await notice.count()) === 0) return true;
        // What was asked before may still fail after it.
        await notice
          .getByRole('button', { name: 'Try again' })
          .click({ timeout: 1000 })
          .catch(() => undefined);
        return false;
      });
    }
    await later.close();
  });

  await t.test(
    'where there is nothing yet, pages say what it is for, and offer the first step',
    async (t) => {
      const stranger = await registerOwner(opened, {
        email: 'olga@example.test',
        name: 'Olga Berg',
        orgName: 'Riverside Clinic',
      });
      const within = `/projects/${stranger.projectId}`;
      const org = `/orgs/${stranger.orgId}`;
      const content = stranger.page.locator('main');
      for (const { id, title, text } of RECORD_KINDS) {
        await stranger.page.goto(`${url}${within}/${id}`);
        await settle(stranger.page);
        // What comes with the installation.
        if ((await content.locator('tbody').getByRole('row').count()) > 0) continue;
        await content.getByText('Nothing here yet').waitFor();
        t.equal(await content.getByText(text).count(), 2, `${title} says what they are for`);
        t.equal(
          await content.getByRole('button', { name: 'New' }).count(),
          2,
          `${title} offers the first step`,
        );
      }
      const states: [address: string, title: string | RegExp, step?: string][] = [
        [`${within}/home`, 'No call yet', 'Pick a template'],
        [`${within}/calls`, 'No calls yet', 'Talk to an agent'],
        [`${within}/agents`, 'No agents yet', 'Create the first agent'],
        [`${within}/campaigns`, 'No campaign yet', 'New campaign'],
        [`${within}/ucc-complaints`, 'No complaints'],
        [`${within}/api-keys`, 'No key yet', 'New key'],
        [`${org}/rate-limits`, 'No limit of your own', 'New limit'],
        [`${org}/billing`, 'No invoice yet'],
        [`${org}/usage`, 'No call ended on these days.'],
      ];
      for (const state of states) await shows(...state);
      const agent = await stranger.call<{ id: string }>('POST', `/v1${org}${within}/agents`, {
        name: 'Desk',
      });
      const ofAgent = `${within}/agents/${agent.body.id}`;
      await shows(`${ofAgent}/flow`, 'No flow', 'Begin a flow');
      await shows(`${ofAgent}/tests`, 'No tests yet', 'New test');
      await shows(`${ofAgent}/talk`, 'Talk to your agent', 'Type');
      await stranger.context.close();

      async function shows(address: string, title: string | RegExp, step?: string): Promise<void> {
        await stranger.page.goto(`${url}${address}`);
        await settle(stranger.page);
        t.ok((await content.getByText(title).count()) > 0, `${address} says that there is nothing yet`);
        if (step === undefined) return;
        const first = content
          .getByRole('button', { name: step })
          .or(content.getByRole('link', { name: step }));
        t.ok((await first.count()) > 0, `${address} offers the first step`);
      }
    },
  );

  t.same(
    problems.filter((problem) => !/status of (404|500|503)/.test(problem)),
    [],
    'nothing went wrong in the pages',
  );
});
