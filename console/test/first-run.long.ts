import t from 'tap';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, seriousFaults, skip } from './fixtures/console-browser.ts';

// The first person of an installation: from the setup code to a first call, in a browser. Only where somebody asks for it
// (`npm run test:long`).

t.setTimeout(300_000);

void t.test('somebody comes first', { skip: skip || (!LONG && 'npm run test:long') }, async (t) => {
  const { page, problems, setupCode, url } = await openConsole(t, {}, { isNew: true });
  page.setDefaultTimeout(60_000);
  const steps = page.getByRole('region', { name: 'First steps' });
  const step = (title: string) => steps.locator('.mantine-Card-root').filter({ hasText: title });

  await t.test('they register with the setup code', async (t) => {
    await page.goto(`${url}/register`);
    await page.getByLabel('Name').fill(OWNER.name);
    await page.getByLabel('E-mail').fill(OWNER.email);
    await page.getByRole('textbox', { name: 'Password' }).fill(OWNER.password);
    await page.getByLabel('Setup code').fill('not the code');
    await page.getByRole('button', { name: 'Register' }).click();
    await page.getByRole('alert').getByText(/req_/).waitFor();
    await page.getByLabel('Setup code').fill(setupCode!);
    await page.getByRole('button', { name: 'Register' }).click();
    await page.waitForURL(/\/home$/);
    await page.goto(`${url}/register`);
    t.notMatch(await page.content(), setupCode!);
    await page.goto(url);
  });

  await t.test('a new project says what comes first, and what was done or skipped stays so', async (t) => {
    await page.getByRole('link', { name: 'Projects' }).click();
    await page.getByRole('button', { name: 'New project' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Clinic');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByRole('link', { name: 'Clinic' }).click();
    await step('Connect a number').waitFor();
    const home = page.url();
    t.equal(await step('Talk to it').getByRole('link').count(), 0, 'there is nobody to talk to yet');
    await step('Connect a number').getByRole('button', { name: 'Skip' }).click();
    await step('Connect a number').waitFor({ state: 'detached' });
    await page.reload();
    await step('Make an agent').waitFor();
    t.equal(await step('Connect a number').count(), 0, 'what was skipped stays so');
    t.same(await seriousFaults(page), []);

    await step('Make an agent').getByRole('link', { name: 'Pick a template' }).click();
    await page.getByRole('button', { name: 'Create the first agent' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Reception');
    await dialog.getByRole('button', { name: 'Create agent' }).click();
    await page.getByRole('heading', { level: 1, name: 'Reception' }).waitFor();
    await page.goto(home);
    await step('Make an agent').getByText('Done').waitFor();

    await step('Talk to it').getByRole('link', { name: 'Talk' }).click();
    await page.getByRole('button', { name: 'Type', exact: true }).click();
    await page.locator('[data-who=agent]').first().waitFor();
    await page.getByRole('button', { name: 'End', exact: true }).click();
    await page.getByRole('link', { name: 'Open the call' }).waitFor();
    await page.goto(home);
    await page.getByRole('table', { name: 'Latest calls' }).getByRole('row').nth(1).waitFor();
    await eventually('the way is gone', async () => (await steps.count()) === 0);
  });

  t.same(
    problems.filter((problem) => !/status of 4(03|22)/.test(problem)),
    [],
    'nothing went wrong in the pages',
  );
});
