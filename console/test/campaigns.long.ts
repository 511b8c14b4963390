import t from 'tap';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { openConsole, seriousFaults, skip } from './fixtures/console-browser.ts';

// A campaign from its file to the call, in a browser: only where somebody asks for it (`npm run test:long`).

/** What somebody may say who wants to break the page. */
const HOSTILE = '<script>alert(1)</script> \u202egnirts <img src=x onerror=alert(2)>';

t.setTimeout(240_000);

void t.test(
  'a campaign is made, started and read',
  { skip: skip || (!LONG && 'npm run test:long') },
  async (t) => {
    const { demonstration, page, platform, problems, url, project } = await openConsole(t);
    const faults = async () =>
      t.same(await seriousFaults(page), [], `nothing keeps anybody out of ${page.url()}`);
    await page.goto(platform.controlPlane.startLink()!);
    await page.waitForURL(`${url}/projects/${project}/home`);

    await page.goto(`${url}/projects/${project}/campaigns`);
    await page.getByRole('link', { name: 'New campaign' }).first().click();
    const next = page.getByRole('button', { name: 'Next' });
    await page.getByRole('textbox', { name: 'Name' }).fill(HOSTILE);
    await page.getByRole('combobox', { name: 'Agent' }).click();
    await page.getByRole('option', { name: 'Lakeside Bistro' }).click();
    await next.click();
    await page.locator('input[type=file]').setInputFiles({
      name: 'people.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(`Client;Tel.;Policy No.\nAda;+14155550190;=cmd\n${HOSTILE};hello;\n`),
    });
    // A file of somebody else's has other names for its columns.
    const preview = page.getByRole('region', { name: 'The first rows of the file' });
    await preview.getByText('variable policy_no_').waitFor();
    await page.getByText('Say which column has the telephone numbers.').waitFor();
    for (const [column, use] of [
      ['Client', 'Name'],
      ['Tel.', 'Number'],
    ] as const) {
      await preview.getByRole('combobox', { name: `What ${column} is` }).click();
      await page.getByRole('option', { name: use, exact: true }).click();
    }
    await page.getByText('Say which column has the telephone numbers.').waitFor({ state: 'detached' });
    await faults();
    await next.click();
    await page.getByRole('switch', { name: 'Only at these hours' }).uncheck();
    await faults();
    await next.click();
    await page.getByLabel('It may cost').fill('25');
    await next.click();
    await page.getByText('It pauses by itself once its calls cost 25').waitFor();
    await page.getByRole('button', { name: 'Make and import' }).click();
    await page.getByText('2 rows: 1 new, 0 updated, 0 left as they are, 1 bad.').waitFor();
    await page.getByText('is no number that can be dialled').waitFor();
    await faults();
    await page.getByRole('button', { name: 'Start it' }).click();
    await page.getByRole('heading', { level: 1 }).getByText(HOSTILE).waitFor();
    const contacts = page.getByRole('table', { name: 'Contacts' });
    const find = page.getByLabel('Find by name or number');
    await find.fill('Grace');
    await page.getByText('No contact of this campaign fits.').waitFor();
    await find.fill('ada');
    await contacts.getByRole('row', { name: /Ada/ }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Attempt 1' }).waitFor();
    await faults();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+K');
    const finder = page.getByRole('dialog', { name: /^Find a page, or a record/ });
    await finder.getByRole('textbox').fill('ada');
    await finder.getByRole('button', { name: /Ada \(\+14155550190\)/ }).click();
    await page.waitForURL(/record=cct_/);
    await page.getByRole('dialog', { name: 'Ada' }).getByRole('link', { name: 'Attempt 1' }).waitFor();
    await page.keyboard.press('Escape');
    await eventually('nothing covers the page', async () => (await page.getByRole('dialog').count()) === 0);
    const [id] = /cmp_\w+/.exec(page.url())!;
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the campaign' }).click();
    await page.getByText('Cancelled', { exact: true }).first().waitFor();
    t.match(await demonstration.rest.get(`/v1/campaigns/${id}`), {
      status: 'cancelled',
      max_cost_amount: '25',
      counters: { total: 1, attempts: 1 },
    });

    await page.goto(`${url}/projects/${project}/campaigns/new`);
    await page.getByRole('textbox', { name: 'Name' }).fill('Tried out');
    await page.getByRole('combobox', { name: 'Agent' }).click();
    await page.getByRole('option', { name: 'Lakeside Bistro' }).click();
    await next.click();
    await page.getByText('Later', { exact: true }).click();
    for (let step = 1; step < 4; step++) await next.click();
    await page.getByRole('button', { name: 'Make a draft' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL(/\/campaigns$/);
    await page.getByRole('link', { name: HOSTILE }).waitFor();
    t.equal(await page.getByRole('link', { name: 'Tried out' }).count(), 0);

    t.same(problems, [], 'nothing went wrong in the pages');
  },
);
