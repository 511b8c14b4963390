import t from 'tap';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { CALLER_LINES } from '../../embedded/src/demonstration/script.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, settle, skip } from './fixtures/console-browser.ts';
import { Front } from './fixtures/front.ts';
import { signIn } from './fixtures/people.ts';

// The server goes away under pages that show a call, a form and a list, and comes back; a sign-in runs out under others. Only
// where somebody asks for it (`npm run test:long`).

t.setTimeout(600_000);

void t.test(
  'pages outlast the server, and the sign-in',
  { skip: skip || (!LONG && 'npm run test:long') },
  async (t) => {
    const api = await Front.open();
    t.teardown(() => api[Symbol.asyncDispose]());
    const web = await Front.open();
    t.teardown(() => web[Symbol.asyncDispose]());
    const opened = await openConsole(t, {
      PUBLIC_URL: `http://127.0.0.1:${api.port}`,
      CONSOLE_URL: `http://127.0.0.1:${web.port}`,
    });
    const { demonstration, desk, platform, problems, project, url } = opened;
    api.target = platform.controlPlane.port;
    web.target = platform.controlPlane.console!.port;
    const { page, context } = await signIn(opened, OWNER.email);
    const notice = (one = page) => one.getByText('The server cannot be reached', { exact: true });

    await t.test('a call is followed without a gap', async (t) => {
      const placed = await desk.place({
        carrier: 'plivo',
        to: demonstration.lines.plivo!.number,
        steps: [
          { say: CALLER_LINES.booking },
          { pause_ms: 3000 },
          { say: CALLER_LINES.day },
          { pause_ms: 20_000 },
          { say: CALLER_LINES.goodbye },
        ],
      });
      await page.goto(`${url}/projects/${project}/calls`);
      await page.getByRole('row', { name: /In progress/ }).click();
      const live = page.getByRole('region', { name: 'Live call' });
      await live.getByText('Anna Weber').waitFor();
      await Promise.all([api.shut(), web.shut()]);
      await notice().waitFor();
      const [id] = /[0-9a-f-]{36}/.exec(page.url())!;
      const said = async () => {
        const { items } = await demonstration.rest.get<{ items: { text: string }[] }>(
          `/v1/sessions/${id}/transcript`,
        );
        return items.map(({ text }) => text);
      };
      await eventually('more is said', async () =>
        (await said()).some((text) => text.includes('booked for')),
      );
      t.equal(await live.getByText('booked for').count(), 0, 'nothing of it reached the page');
      await live.getByText('Anna Weber').waitFor();
      await Promise.all([api.reopen(), web.reopen()]);
      await notice().waitFor({ state: 'detached' });
      await live.getByText('booked for').waitFor();
      const shown = await live
        .locator('.live-turns > li:not(.is-unfinished) > :nth-child(2)')
        .allTextContents();
      t.same(shown, (await said()).slice(0, shown.length), 'each turn once, in their order');
      await placed.outcome;
      await live.waitFor({ state: 'detached' });
      await page.getByRole('region', { name: 'Transcript' }).getByText('thank you very much').waitFor();
    });

    await t.test('what is clicked meanwhile says so, and works when it is clicked again', async (t) => {
      await page.goto(`${url}/projects/${project}/settings`);
      await page.getByLabel('What it is for').fill('Tables and opening hours');
      await api.shut();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('alert').getByText('The server cannot be reached.').waitFor();
      await notice().waitFor();
      await api.reopen();
      await notice().waitFor({ state: 'detached' });
      t.equal(await page.getByLabel('What it is for').inputValue(), 'Tables and opening hours');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
    });

    await t.test('a page that is opened meanwhile comes by itself', async () => {
      await page.goto(`${url}/projects/${project}/home`);
      await settle(page);
      await api.shut();
      await page.getByRole('link', { name: 'Agents' }).click();
      await notice().waitFor();
      await api.reopen();
      await page.getByRole('link', { name: 'Lakeside Bistro' }).waitFor();
      // Even the first look at who is signed in.
      await api.shut();
      await page.reload();
      await page.getByText('The server cannot be reached').first().waitFor();
      await api.reopen();
      await page.getByRole('link', { name: 'Lakeside Bistro' }).waitFor();
    });

    /** Ends the sign-in of the browser on the server, as time would. */
    async function endSignIn() {
      const cookie = (await context.cookies(url)).find(({ name }) => name.startsWith('parley-'))!;
      const answer = await fetch(`${platform.localUrl}/auth/v1/logout`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ refresh_token: cookie.value }),
      });
      t.ok(answer.ok, 'the sign-in is over');
    }
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    async function signInAgain() {
      await again.waitFor();
      t.equal(await again.getByLabel('E-mail').inputValue(), OWNER.email);
      await again.getByRole('textbox', { name: 'Password' }).fill('not the password');
      await page.keyboard.press('Enter');
      await again.getByText('Incorrect e-mail address or password.').waitFor();
      await again.getByRole('textbox', { name: 'Password' }).fill(OWNER.password);
      await page.keyboard.press('Enter');
      await again.waitFor({ state: 'detached' });
    }

    await t.test(
      'after signing in again, what was typed is there, and what was asked for is done',
      async (t) => {
        await page.goto(`${url}/projects/${project}/campaigns/new`);
        await page.getByRole('textbox', { name: 'Name' }).fill('Reminders for Friday');
        await page.getByRole('combobox', { name: 'Agent' }).click();
        await page.getByRole('option', { name: 'Lakeside Bistro' }).click();
        await endSignIn();
        await page.getByRole('button', { name: 'Next' }).click();
        await signInAgain();
        t.match(page.url(), /campaigns\/new$/);
        await page.getByRole('button', { name: 'Back' }).click();
        t.equal(await page.getByRole('textbox', { name: 'Name' }).inputValue(), 'Reminders for Friday');

        await page.goto(`${url}/projects/${project}/knowledge-bases`);
        await page.getByRole('button', { name: 'New' }).first().click();
        await page.getByRole('textbox', { name: 'Name' }).fill('Wine list');
        await endSignIn();
        await page.getByRole('button', { name: 'Create' }).click();
        await signInAgain();
        await page.getByRole('button', { name: 'Wine list' }).waitFor();
      },
    );

    await t.test('what follows calls goes on after it', async () => {
      await page.goto(`${url}/projects/${project}/calls`);
      await settle(page);
      await endSignIn();
      await page.getByLabel('Search calls').fill('Anna');
      await signInAgain();
      await page.getByRole('button', { name: 'Clear', exact: true }).click();
      const placed = await desk.place({
        carrier: 'plivo',
        to: demonstration.lines.plivo!.number,
        steps: [{ say: CALLER_LINES.booking }, { say: CALLER_LINES.goodbye }],
      });
      await page.getByRole('row', { name: /In progress/ }).waitFor();
      await placed.outcome;
    });

    await t.test('somebody else who signs in sees nothing of it', async (t) => {
      await page.goto(`${url}/projects/${project}/calls`);
      await settle(page);
      await endSignIn();
      await page.getByLabel('Search calls').fill('Anna');
      await again.waitFor();
      await again.getByRole('button', { name: 'Sign in as somebody else' }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      t.equal(await page.getByRole('table').count(), 0);
      t.equal(await again.count(), 0);
    });

    const unanswered =
      /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_CONNECTION_CLOSED|ERR_INCOMPLETE|Failed to fetch dynamically/;
    t.same(
      problems.filter((problem) => !unanswered.test(problem)),
      [],
      'nothing else went wrong in the pages',
    );
  },
);
