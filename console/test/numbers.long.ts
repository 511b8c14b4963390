import t from 'tap';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { openConsole, seriousFaults, skip } from './fixtures/console-browser.ts';

// A number from its price to the hours at which it is answered, in a browser: only where somebody asks for it (`npm run test:long`).

t.setTimeout(240_000);

void t.test(
  'a number is bought, set up and answered',
  { skip: skip || (!LONG && 'npm run test:long') },
  async (t) => {
    const { demonstration, desk, page, platform, problems, url, project } = await openConsole(t);
    const faults = async () =>
      t.same(await seriousFaults(page), [], `nothing keeps anybody out of ${page.url()}`);
    await page.goto(platform.controlPlane.startLink()!);
    await page.waitForURL(`${url}/projects/${project}/home`);
    const dialog = page.getByRole('dialog');

    await t.test('an account says what to paste, and whether its carrier has called', async () => {
      await page.goto(`${url}/projects/${project}/telephony-accounts`);
      await page.getByRole('button', { name: /plivo/i }).click();
      await dialog.getByText(/carriers\/plivo\/voice\/tel_/).waitFor();
      await dialog.getByText('Not seen to work yet').waitFor();
      await dialog.getByRole('button', { name: 'Check at the carrier' }).click();
      await dialog.getByRole('alert').getByText('has no application at Plivo').waitFor();
      const placed = await desk.place({ carrier: 'plivo', steps: [{ say: 'Goodbye.' }] });
      await placed.outcome;
      await page.reload();
      await dialog.getByText('It works').waitFor();
      await faults();
    });

    await t.test('its price stands before the click, and it is bought once', async (t) => {
      await page.goto(`${url}/projects/${project}/phone-numbers`);
      await page.getByRole('button', { name: 'New' }).first().click();
      await dialog.getByRole('combobox', { name: 'Account' }).click();
      await page.getByRole('option', { name: /plivo/i }).click();
      await dialog.getByRole('button', { name: 'See what is for sale' }).click();
      const choose = dialog.getByRole('button', { name: /^Choose \+/ }).first();
      const number = (await choose.getAttribute('aria-label'))!.slice('Choose '.length);
      await faults();
      await choose.click();
      await dialog.getByText(/The carrier asks for .*\$\d/).waitFor();
      await dialog.getByRole('button', { name: /^Buy it for .*\$\d.* a month$/ }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('row', { name: number }).getByText('Active').waitFor();
      const { items } = await demonstration.rest.get<{ items: { phone_number: string; origin: string }[] }>(
        `/v1/orgs/${demonstration.orgId}/projects/${project}/phone-numbers`,
      );
      t.match(
        items.filter(({ phone_number }) => phone_number === number),
        [{ origin: 'bought' }],
      );
      await page.getByRole('button', { name: number }).click();
      await dialog.getByText('No agent answers it yet').waitFor();
      await dialog.getByText('Voice application of the number, “Answer URL”: POST').waitFor();
      await faults();
    });

    await t.test('the hours of a deployment are a week', async (t) => {
      await page.goto(`${url}/projects/${project}/inbound-deployments`);
      await page.getByRole('button', { name: /plivo/i }).click();
      await dialog.getByRole('switch', { name: 'Availability' }).click({ force: true });
      await dialog.getByRole('definition').filter({ hasText: '09:00 to 18:00' }).nth(4).waitFor();
      await dialog.getByRole('button', { name: 'Another window' }).click();
      await dialog.getByRole('definition').filter({ hasText: '10:00 to 14:00' }).waitFor();
      await dialog.getByLabel('To').nth(1).fill('00:00');
      await dialog.getByRole('definition').filter({ hasText: '10:00 to 24:00' }).waitFor();
      await faults();
      const saved = page.waitForResponse((response) => response.request().method() === 'PATCH');
      await dialog.getByRole('button', { name: 'Save' }).click();
      t.equal((await saved).status(), 200);
      const { items } = await demonstration.rest.get<{ items: { availability: unknown }[] }>(
        `/v1/orgs/${demonstration.orgId}/projects/${project}/inbound-deployments?q=plivo`,
      );
      t.match(items[0]!.availability, {
        windows: [
          { days: ['mon', 'tue', 'wed', 'thu', 'fri'], start: '09:00', end: '18:00' },
          { days: ['sat'], start: '10:00', end: '24:00' },
        ],
      });
    });

    t.same(problems, [], 'nothing went wrong in the pages');
  },
);
