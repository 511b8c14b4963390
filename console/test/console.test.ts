import t, { type Test } from 'tap';
import { LONG, sampleOf } from '../../shared/test/fixtures/long.ts';
import { bundleConsole, firstViewBytes } from '../build/bundle.ts';
import { AUDIT_ACTIONS } from '../src/pages/audit/audit-filter.ts';
import { OWNER, openConsole, seriousFaults, skip, tooWide } from './fixtures/console-browser.ts';

// One platform and one browser for the main task of every page but those of a newcomer (newcomer.test.ts).

/** What somebody may say who wants to break the page. */
const HOSTILE = '<script>alert(1)</script> \u202egnirts <img src=x onerror=alert(2)>';

t.setTimeout(240_000);

void t.test('the console, as a person uses it', { skip }, async (t) => {
  const { platform, demonstration, page, context, problems, url, project } = await openConsole(t);
  const faults = async () => {
    if (LONG) t.same(await seriousFaults(page), [], `nothing keeps anybody out of ${page.url()}`);
  };
  /** Done every time by `npm run test:long`; `npm test` does one of them, another one each time. */
  const tasks: [title: string, task: (t: Test) => Promise<void>][] = [];

  const ofNoOrg = /^(sign_in|password)\.|^org\.deleted$/;
  const audited = [...platform.controlPlane.features.audit].filter((action) => !ofNoOrg.test(action));
  t.same(AUDIT_ACTIONS, audited.sort(), 'the audit trail can be filtered by every action of an org');

  await t.test('the start link signs in, once', async (t) => {
    const link = platform.controlPlane.startLink()!;
    await page.goto(link);
    await page.waitForURL(`${url}/projects/${project}/home`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await faults();

    const other = await context.browser()!.newContext();
    const again = await other.newPage();
    await again.goto(link);
    await again.getByText('The link was used already or has expired.').waitFor();
    t.notMatch(again.url(), '#', 'the code is gone from the address');
    await other.close();
  });

  await t.test('a second tab is signed in too, and both stay so', async () => {
    const second = await context.newPage();
    await second.goto(`${url}/projects/${project}/home`);
    await second.getByRole('button', { name: `Account of ${OWNER.name}` }).waitFor();
    await Promise.all([page.reload(), second.reload()]);
    for (const tab of [page, second])
      await tab.getByRole('button', { name: `Account of ${OWNER.name}` }).waitFor();
    await second.close();
  });

  await t.test('one signs out and in again with a password', async (t) => {
    await page.getByRole('button', { name: `Account of ${OWNER.name}` }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await faults();
    await page.getByLabel('E-mail').fill(OWNER.email);
    await page.getByRole('textbox', { name: 'Password' }).fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Incorrect e-mail address or password.').waitFor();
    t.match(await page.getByRole('alert').textContent(), /Request\s*req_/, 'an error names its request');
    await page.getByRole('textbox', { name: 'Password' }).fill(OWNER.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${url}/projects/${project}/home`);
  });

  tasks.push([
    'what a caller says is text: talked, listed, read, and erased',
    async (t) => {
      await page.goto(`${url}/projects/${project}/agents/${demonstration.agentId}/talk`);
      await page.getByRole('button', { name: 'Type', exact: true }).click();
      const write = page.getByLabel('Type to the agent');
      await page.locator('[data-who=agent]').getByText('How can I help you?').waitFor();
      await write.fill(HOSTILE);
      await write.press('Enter');
      await page.locator('[data-who=caller]').getByText(HOSTILE).waitFor();
      await write.fill('A table for two on Friday at seven, please');
      await write.press('Enter');
      await page.getByText('"reference":"L 42"').waitFor();
      await page.locator('[data-who=agent]').getByText('booked for Friday').waitFor();
      await page
        .getByRole('img', { name: /Reply after/ })
        .first()
        .waitFor();
      await faults();
      await page.getByRole('button', { name: 'End', exact: true }).click();
      await page.goto(`${url}/projects/${project}/calls?status=failed`);
      await page.getByText('No call fits').waitFor();
      await page.getByRole('button', { name: 'Clear the filters' }).click();
      const calls = page.getByRole('table', { name: 'Calls' });
      await calls.getByRole('row', { name: /Lakeside Bistro/ }).waitFor();
      await faults();
      await page.getByLabel('Search calls').fill('nobody of this name');
      await page.waitForURL(/q=nobody/);
      await page.getByText('No call fits').waitFor();
      await page.getByRole('button', { name: 'Clear', exact: true }).click();
      await calls.getByRole('link').first().click();

      const transcript = page.getByRole('region', { name: 'Transcript' });
      await transcript.getByText(HOSTILE).waitFor();
      t.equal(await page.locator('.words script').count(), 0, 'what was said is text');
      await page.getByRole('group', { name: 'Tools' }).getByRole('button').first().click();
      await page.locator('.timeline-selected').getByText('"reference":"L 42"').waitFor();
      await faults();
      await page.setViewportSize({ width: 360, height: 780 });
      t.same(await tooWide(page), [], 'a call fits a telephone');
      await page.setViewportSize({ width: 1440, height: 900 });

      const [call] = /calls\/[0-9a-f-]{36}/.exec(page.url())!;
      await page.goto(`${url}/projects/${project}/${call}?at=1.5`);
      await page.getByTestId('time').getByText('0:01').waitFor();
      await page.getByRole('button', { name: 'Erase' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Erase' }).click();
      await page.waitForURL(/\/calls$/);
      await page.goto(`${url}/projects/${project}/${call}`);
      await page.getByText('Nothing was said, or it is not kept').waitFor();
    },
  ]);

  tasks.push([
    'a key is made, shown once, used, and revoked',
    async (t) => {
      await page.goto(`${url}/projects/${project}/home`);
      await page.getByRole('link', { name: 'API keys' }).click();
      await page.getByRole('button', { name: 'New key' }).first().click();
      await page.getByLabel('Name').fill('<b>Warehouse</b>');
      await page.getByRole('button', { name: 'Create' }).click();
      const shown = page.getByRole('dialog', { name: 'Copy the key now' });
      const key = (await shown.getByText(/^sk-svc-/).textContent())!;
      const me = () => fetch(`${platform.localUrl}/v1/me`, { headers: { authorization: `Bearer ${key}` } });
      t.equal((await me()).status, 200);
      await page.keyboard.press('Escape');
      await shown.waitFor({ state: 'detached' });
      const row = page.getByRole('row').filter({ hasText: '<b>Warehouse</b>' });
      await row.getByRole('button', { name: 'Revoke' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
      await row.getByText('Revoked').waitFor();
      t.equal((await me()).status, 401);
    },
  ]);

  await t.test('nothing keeps anybody out of home and the settings', async (t) => {
    const links = page.getByRole('navigation').getByRole('link');
    const names = ['Home', 'Projects', 'Project', 'API keys', 'Members', 'Rate limits', 'Features'];
    names.push('Usage', 'Billing', 'Campaigns', 'Complaints', 'Audit trail', 'Organisation', 'Numbers');
    names.push('Provider credentials', 'Models', 'Inbound', 'Carrier accounts');
    for (const name of sampleOf(t, 'CONSOLE_PAGE', names)) {
      await links.filter({ hasText: new RegExp(`^${name}$`) }).click();
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.locator('[role=status][aria-label^=Loading]').waitFor({ state: 'detached' });
      await page.setViewportSize({ width: 360, height: 740 });
      t.same(await tooWide(page), [], `${name} fits a telephone`);
      await page.setViewportSize({ width: 1440, height: 900 });
      t.same(await seriousFaults(page), [], name);
    }
  });

  tasks.push([
    'an agent is made from a template, changed, checked and saved as a draft',
    async (t) => {
      await page.goto(`${url}/projects/${project}/agents`);
      await page.getByRole('button', { name: 'New agent' }).click();
      await page.getByRole('textbox', { name: 'Name' }).fill('<script>alert(1)</script>');
      await page.getByRole('button', { name: 'Create agent' }).click();
      await page.getByRole('heading', { level: 1, name: '<script>alert(1)</script>' }).waitFor();
      await page.getByRole('button', { name: 'Turn-taking' }).click();
      const least = page.getByRole('textbox', { name: 'Minimum endpointing' });
      await least.fill('9000');
      await page.getByText('Too big: expected number to be <=2000').waitFor();
      await least.fill('400');
      await page.getByText('1 unsaved').waitFor();
      await page.reload();
      await page.getByText('1 unsaved').waitFor();
      t.equal(await least.inputValue(), '400 ms', 'what was not saved is kept');
      await page.getByRole('button', { name: 'More ways to save' }).click();
      await page.getByRole('menuitem', { name: 'Save as a draft' }).click();
      await page.getByRole('button', { name: 'Publish v2' }).waitFor();
      await page.getByRole('tab', { name: 'Versions' }).click();
      await page.getByText('Turn taking › Minimum endpointing').waitFor();
      await page.getByRole('tab', { name: 'Flow' }).click();
      await page.getByRole('button', { name: 'Begin a flow' }).click();
      await page.getByText('The caller has no further question.').waitFor();
    },
  ]);

  tasks.push([
    'a record is made by the form of the description, and found',
    async () => {
      await page.goto(`${url}/projects/${project}/knowledge-bases`);
      await page.getByRole('button', { name: 'New' }).first().click();
      await page.getByRole('textbox', { name: 'Name' }).fill('Opening hours');
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('button', { name: 'Opening hours' }).click();
      await page.getByRole('textbox', { name: 'Test question' }).waitFor();

      // And found again, from anywhere.
      await page.goto(`${url}/projects/${project}/calls`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.keyboard.press('Control+K');
      const finder = page.getByRole('dialog', { name: /^Find a page, or a record/ });
      await finder.getByRole('textbox').fill('nothing of this name');
      await finder.getByText('Nothing has this name, number or id').waitFor();
      await finder.getByRole('textbox').fill('ning HOURS');
      await finder.getByRole('button', { name: /Opening hours/ }).waitFor();
      await faults();
      await page.keyboard.press('Enter');
      await page.waitForURL(/knowledge-bases\?record=kbs_/);
      await page.getByRole('textbox', { name: 'Test question' }).waitFor();
    },
  ]);

  for (const [title, task] of sampleOf(t, 'CONSOLE_TASK', tasks)) await t.test(title, task);

  t.same(problems, [], 'nothing went wrong in the pages');
});

void t.test('the first view is small, and pages come when they are opened', async (t) => {
  const { files, metafile, script, preloads, styles, ...rest } = await bundleConsole();
  const first = { files, script, preloads, styles, ...rest };
  const kilobytes = firstViewBytes(first) / 1024;
  t.ok(kilobytes < 300, `${Math.round(kilobytes)} KB compressed of 300`);
  const inFirst = (file: string) => [script, ...preloads].some((name) => file.endsWith(name));
  const loaded = Object.entries(metafile.outputs).flatMap(([file, { inputs }]) =>
    inFirst(file) ? Object.keys(inputs) : [],
  );
  const heavy = loaded.filter((file) => /src\/pages\/|@xyflow|wavesurfer/.test(file));
  t.same(heavy, [], 'what a page alone needs is not loaded before it');
  t.ok(preloads.length < 5, `${preloads.length} more files than one`);
  const { outputs } = metafile;
  const filesOf = (file: string, seen = new Set<string>()): Set<string> => {
    if (inFirst(file) || seen.has(file)) return seen;
    seen.add(file);
    for (const { kind, path } of outputs[file]!.imports) if (kind === 'import-statement') filesOf(path, seen);
    return seen;
  };
  const later = Object.entries(outputs).filter(([, { entryPoint }]) => entryPoint?.includes('/src/pages/'));
  t.ok(later.length > 20);
  for (const [file, { entryPoint }] of later)
    t.ok(filesOf(file).size < 20, `${entryPoint} is loaded as ${filesOf(file).size} files`);
});
