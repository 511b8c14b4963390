import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, seriousFaults, settle, skip, tooWide } from './fixtures/console-browser.ts';
import { makeRecords } from './fixtures/made-records.ts';
import { PAGES, addressOf } from './fixtures/pages.ts';
import { signIn } from './fixtures/people.ts';
import { holdTypedCall } from './fixtures/typed-call.ts';

// Every page of the console's own table, in the light and in the dark, wide and narrow: only where somebody asks for it
// (`npm run test:long`). With PICTURES, a folder, each is kept as a picture.

const PICTURES = process.env['PICTURES'];
const OUTSIDE = ['/sign-in', '/register', '/accept-invite', '/reset-password', '/nowhere'];

t.setTimeout(900_000);

void t.test(
  'every page can be used by everybody, and on a telephone',
  { skip: skip || (!LONG && 'npm run test:long') },
  async (t) => {
    const opened = await openConsole(t);
    const { demonstration, problems, project, url } = opened;
    const owner = await signIn(opened, OWNER.email);
    const { page } = owner;
    const records = await makeRecords(opened, owner, 'Lakeside');
    const ids = {
      projectId: project,
      orgId: demonstration.orgId,
      agentId: demonstration.agentId,
      campaignId: records['campaign_id']!,
      sessionId: await holdTypedCall(opened, page, ['A table for two on Friday at seven, please']),
    };

    async function look(title: string) {
      await settle(page);
      await picture(page, title, 1440);
      t.same(await seriousFaults(page), [], `nothing keeps anybody out of ${title}`);
      await page.setViewportSize({ width: 360, height: 780 });
      await settle(page);
      await picture(page, title, 360);
      t.same(await tooWide(page), [], `${title} fits a telephone`);
      await page.setViewportSize({ width: 1440, height: 900 });
    }
    for (const one of PAGES) {
      await page.goto(`${url}${addressOf(one, ids)}`);
      await look(one.title);
      const curl = page.getByRole('main').getByRole('button', { name: 'curl', exact: true });
      t.equal(await curl.count(), 1, `${one.title} has the commands that do the same`);
    }
    await page.getByRole('button', { name: /^Account of/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    for (const address of OUTSIDE) {
      await page.goto(`${url}${address}`);
      await look(`outside${address}`);
    }

    // What the server sends is seen alone until the scripts have come.
    await page.route('**/assets/*.js', (route) => route.abort());
    for (const [name, address] of [
      ['frame', `/projects/${project}/home`],
      ['frame outside', '/sign-in'],
    ] as const) {
      await page.goto(`${url}${address}`);
      await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'attached' });
      for (const width of [1440, 360]) {
        await page.setViewportSize({ width, height: 780 });
        await picture(page, name, width);
        t.same(
          await seriousFaults(page, { isAlive: false }),
          [],
          `nothing keeps anybody out of the ${name} at ${width} px`,
        );
      }
      t.same(await tooWide(page), [], `the ${name} fits a telephone`);
      t.equal(await page.getByRole('main').count(), 1);
    }
    t.same(
      problems.filter((problem) => !/ERR_FAILED/.test(problem)),
      [],
      'nothing went wrong in the pages',
    );
  },
);

/** The whole page, as long as it is. */
async function picture(page: Page, title: string, width: number): Promise<void> {
  if (PICTURES === undefined) return;
  await mkdir(PICTURES, { recursive: true });
  const name = title.toLowerCase().replace(/\W+/g, '-');
  await writeFile(path.join(PICTURES, `${name}-${width}.png`), await page.screenshot({ fullPage: true }));
}
