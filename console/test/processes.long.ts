import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { launchBrowser } from '@parley/emulators/callers/browser-caller';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { silentLogger } from '@parley/shared/logging/logger';
import { openEmulators } from '../../embedded/src/emulators.ts';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import {
  freePorts,
  openInstallationProcesses,
  type KillableProcess,
} from '../../embedded/test/fixtures/system/installation-processes.ts';
import { hasRedis } from '../../embedded/test/fixtures/system/redis-process.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, settle, skip, watch } from './fixtures/console-browser.ts';
import { Front } from './fixtures/front.ts';

// A control plane that is killed under pages that are open, and started again: real processes, and a call that goes on in the
// gateway meanwhile. Only where somebody asks for it (`npm run test:long`).

t.setTimeout(900_000);

void t.test(
  'pages outlast the death of the control plane',
  { skip: skip || (!LONG && 'npm run test:long') || (!hasRedis && 'there is no redis-server') },
  async (t) => {
    const owned = new DisposableList();
    t.teardown(() => owned.dispose());
    const folder = await mkdtemp(path.join(tmpdir(), 'parley-console-processes-'));
    owned.defer(() => rm(folder, { recursive: true, force: true }));
    const providers = owned.add(await openEmulators({}, { logger: silentLogger(), fast: true }));
    const api = owned.add(await Front.open());
    const media = owned.add(await Front.open());
    const [consolePort] = await freePorts(1);
    const apiUrl = `http://127.0.0.1:${api.port}`;
    const url = `http://127.0.0.1:${consolePort}`;
    const installation = owned.add(
      await openInstallationProcesses(folder, {
        ...providers.env,
        ...{ PUBLIC_URL: apiUrl, MEDIA_PUBLIC_URL: `http://127.0.0.1:${media.port}` },
        ...{ CONSOLE_URL: url, CONSOLE_PORT: `${consolePort}` },
      }),
    );
    api.target = Number(new URL(installation.apiUrl).port);
    media.target = Number(new URL(installation.reach('wss://voice.example.com')).port);
    const [plane] = installation.planes as [KillableProcess];
    await plane.start();
    await installation.gateway.start();

    const log = await readFile(path.join(folder, 'control-plane-1.log'), 'utf8');
    const [, setup_code] = /Setup code for the first registration: (\S+)/.exec(log)!;
    const send = async <T>(method: string, at: string, body?: object, token?: string): Promise<T> => {
      const answer = await fetch(`${apiUrl}${at}`, {
        method,
        headers: {
          connection: 'close',
          ...(body && { 'content-type': 'application/json' }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      if (!answer.ok) throw new Error(`${method} ${at}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as T;
    };
    await send('POST', '/auth/v1/register', { ...OWNER, org_name: 'Lakeside', setup_code });
    const credentials = { email: OWNER.email, password: OWNER.password };
    const { access_token } = await send<{ access_token: string }>('POST', '/auth/v1/login', credentials);
    const call = <T>(method: string, at: string, body?: object) => send<T>(method, at, body, access_token);
    const { memberships } = await call<{ memberships: { org_id: string }[] }>('GET', '/auth/v1/profile');
    const org = memberships[0]!.org_id;
    const projects = await call<{ items: { id: string }[] }>('GET', `/v1/orgs/${org}/projects`);
    const project = projects.items[0]!.id;
    const inProject = `/v1/orgs/${org}/projects/${project}`;
    const agent = await call<{ id: string }>('POST', `${inProject}/agents`, {
      name: 'Lakeside Bistro',
      greeting: 'Lakeside Bistro. How can I help you?',
      config: { recording: { enabled: false } },
    });

    const browser = await launchBrowser();
    owned.defer(() => browser.close());
    const context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(60_000);
    const problems: string[] = [];
    watch(context, problems);
    const signedIn = await context.request.post(`${url}/session/login`, {
      data: credentials,
      headers: { origin: url },
    });
    t.ok(signedIn.ok());
    const page = await context.newPage();
    const talk = await context.newPage();
    const notice = page.getByText('The server cannot be reached', { exact: true });

    await t.test('a call that goes on meanwhile is followed without a gap', async (t) => {
      await page.goto(`${url}/projects/${project}/calls`);
      await settle(page);
      await talk.goto(`${url}/projects/${project}/agents/${agent.id}/talk`);
      await talk.getByRole('button', { name: 'Type', exact: true }).click();
      const agentSaid = talk.locator('[data-who=agent]');
      await agentSaid.getByText('How can I help you?').waitFor();
      const write = async (text: string) => {
        await talk.getByLabel('Type to the agent').fill(text);
        await talk.keyboard.press('Enter');
        await talk.locator('[data-who=caller]').getByText(text).waitFor();
      };
      await write('When do you close?');
      const answers = agentSaid.getByText('emulated language model');
      await answers.first().waitFor();
      await page.getByRole('row', { name: /In progress/ }).click();
      const live = page.getByRole('region', { name: 'Live call' });
      await live.getByText('When do you close?').waitFor();

      await plane.kill();
      await notice.waitFor();
      await write('Is there live music on Friday?');
      await eventually(
        'it is answered by the gateway alone',
        async () => (await talk.locator('.talk-turns article').last().getAttribute('data-who')) === 'agent',
      );
      t.equal(await live.getByText('live music on Friday').count(), 0, 'nothing of it reached the page');
      await live.getByText('When do you close?').waitFor();

      await plane.start();
      await notice.waitFor({ state: 'detached' });
      await live.getByText('Is there live music on Friday?').waitFor();
      for (const text of ['When do you close?', 'Is there live music on Friday?'])
        t.equal(await live.getByText(text, { exact: true }).count(), 1, `${text} stands there once`);
      await talk.getByRole('button', { name: 'End', exact: true }).click();
      await live.waitFor({ state: 'detached' });
      await page.getByRole('region', { name: 'Transcript' }).getByText('Is there live music').waitFor();
    });

    await t.test('a form that is open keeps what was typed, and is stored once', async (t) => {
      if (!(await plane.isUp())) await plane.start();
      await page.goto(`${url}/projects/${project}/analyses`);
      await settle(page);
      await page.getByRole('button', { name: 'New' }).first().click();
      const drawer = page.getByRole('dialog');
      await drawer.getByRole('textbox', { name: 'Name' }).fill('Mood');
      await drawer.getByText('Text', { exact: true }).click();
      await drawer.getByRole('textbox', { name: 'Prompt' }).fill('How did they feel?');
      await plane.kill();
      await drawer.getByRole('button', { name: 'Create' }).click();
      await drawer.getByRole('alert').getByText('The server cannot be reached.').waitFor();
      await notice.waitFor();
      await plane.start();
      await notice.waitFor({ state: 'detached' });
      t.equal(await drawer.getByRole('textbox', { name: 'Prompt' }).inputValue(), 'How did they feel?');
      await drawer.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('button', { name: 'Mood' }).waitFor();
      const { total } = await call<{ total: number }>('GET', `${inProject}/analyses`);
      t.equal(total, 1);
    });

    await t.test('a page that was never opened comes once the server is back', async () => {
      if (!(await plane.isUp())) await plane.start();
      await page.goto(`${url}/projects/${project}/home`);
      await settle(page);
      await plane.kill();
      await page.getByRole('link', { name: 'Tools' }).click();
      await notice.waitFor();
      await plane.start();
      await page.getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
      await page.getByText('Nothing here yet').waitFor();
    });

    await t.test('nor does a page whose file was not loaded yet', async () => {
      if (!(await plane.isUp())) await plane.start();
      await page.goto(`${url}/projects/${project}/home`);
      await settle(page);
      await plane.kill();
      await page.getByRole('link', { name: 'Campaigns' }).click();
      await notice.waitFor();
      await plane.start();
      await page.getByRole('heading', { level: 1, name: 'Campaigns' }).waitFor();
    });

    t.ok(plane.deaths >= 4);
    const unanswered =
      /ERR_CONNECTION_REFUSED|ERR_SOCKET_NOT_CONNECTED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_CONNECTION_CLOSED|ERR_INCOMPLETE|Failed to fetch dynamically|status of 50[23]/;
    t.same(
      problems.filter((problem) => !unanswered.test(problem)),
      [],
      'nothing else went wrong in the pages',
    );
  },
);
