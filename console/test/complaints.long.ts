import t from 'tap';
import type { PlivoComplaints } from '@parley/emulators/carriers/plivo-complaints';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { openConsole, seriousFaults, skip } from './fixtures/console-browser.ts';

// A complaint from the carrier's list to its decision, in a browser: only where somebody asks for it (`npm run test:long`).

/** What somebody may say who wants to break the page. */
const HOSTILE = '<script>alert(1)</script> \u202egnirts <img src=x onerror=alert(2)>';

t.setTimeout(240_000);

void t.test(
  'a complaint is pulled and answered',
  { skip: skip || (!LONG && 'npm run test:long') },
  async (t) => {
    const { page, platform, problems, url, project } = await openConsole(t);
    const { complaints } = platform.carriers.plivo as unknown as { complaints: PlivoComplaints };
    const faults = async () =>
      t.same(await seriousFaults(page), [], `nothing keeps anybody out of ${page.url()}`);
    await page.goto(platform.controlPlane.startLink()!);
    await page.waitForURL(`${url}/projects/${project}/home`);
    await page.goto(`${url}/projects/${project}/ucc-complaints`);
    await page.getByText('Nobody has complained.').waitFor();

    complaints.set({ reference_id: 'one', complaint_category: HOSTILE });
    complaints.set({ reference_id: 'two', to_number: '919876500000' });
    const ask = page.getByRole('button', { name: 'Ask Plivo now' });
    await ask.click();
    const table = page.getByRole('table', { name: 'Complaints' });
    await table
      .getByRole('row', { name: /\bone\b/ })
      .getByText(/(days|hours) left/)
      .waitFor();
    await page.getByLabel('Find who complains').fill('+91 98765 00000');
    await page.getByText('1 complaint', { exact: true }).waitFor();
    await page.getByLabel('Find who complains').fill('');
    await table.getByRole('row', { name: /\bone\b/ }).click();

    const dialog = page.getByRole('dialog');
    await dialog.getByRole('cell', { name: HOSTILE.slice(1) }).waitFor();
    await faults();
    await dialog.getByRole('button', { name: 'Hand in the proof' }).click();
    await dialog.getByText('Choose a file, or write where it is.').waitFor();
    const proof = { name: 'consent.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7') };
    await dialog.locator('input[type=file]').setInputFiles(proof);
    await dialog.getByRole('button', { name: 'Hand in the proof' }).click();
    await dialog.getByText('The carrier has the proof and decides.').waitFor();
    t.equal(await dialog.getByRole('button', { name: 'Hand in the proof' }).count(), 0);
    t.same(
      complaints.handedIn.map(({ referenceId, file }) => [referenceId, file.name]),
      [['one', 'consent.pdf']],
    );

    await page.keyboard.press('Escape');
    complaints.set({ reference_id: 'one', status: 'rejected', rejection_reason: 'It cannot be read' });
    await ask.click();
    await table
      .getByRole('row', { name: /\bone\b/ })
      .getByText('Rejected')
      .waitFor();
    await table.getByRole('row', { name: /\bone\b/ }).click();
    await dialog.getByText('It cannot be read').waitFor();
    await dialog.getByRole('button', { name: 'Hand in the proof' }).waitFor();
    await page.keyboard.press('Escape');

    await page.getByRole('combobox', { name: 'Status' }).click();
    await page.getByRole('option', { name: 'Accepted' }).click();
    await page.getByText('No complaint fits all the filters.').waitFor();

    t.same(problems, [], 'nothing went wrong in the pages');
  },
);
