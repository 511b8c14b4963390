import { readFile } from 'node:fs/promises';
import t from 'tap';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, settle, skip, tooWide } from './fixtures/console-browser.ts';
import { fillCall } from './fixtures/many-records.ts';
import { signIn } from './fixtures/people.ts';

// Names, words and numbers of people who want to break the pages that show them: only where somebody asks for it
// (`npm run test:long`).

const TAGS = '<script>window.broken = true</script><img src=x onerror="window.broken = true">';
const TURNED = '\u202egnirts desrever \u0627\u0644\u0639\u0631\u0628\u064a\u0629';
const EMOJI = '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}'.repeat(30);
const FORMULA = '=cmd|"/c calc"!A1';
/** Without a place to break. */
const ENDLESS = 'a'.repeat(10_000);
const NAME = `${FORMULA} ${TAGS} ${TURNED}`.slice(0, 120);

t.setTimeout(600_000);

void t.test(
  'what people say and call things is text',
  { skip: skip || (!LONG && 'npm run test:long') },
  async (t) => {
    const opened = await openConsole(t);
    const { demonstration, problems, project, url } = opened;
    const { agentId, orgId, rest } = demonstration;
    const { page } = await signIn(opened, OWNER.email);
    await rest.patch(`/v1/agents/${agentId}`, { name: NAME, system_prompt: ENDLESS });
    await rest.post(`/v1/orgs/${orgId}/projects/${project}/knowledge-bases`, { name: 'x'.repeat(120) });
    const call = await fillCall(opened, [TAGS, TURNED, EMOJI, FORMULA, ENDLESS]);

    const within = `/projects/${project}`;
    const addresses = [
      `${within}/home`,
      `${within}/calls`,
      `${within}/calls/${call}`,
      `${within}/agents`,
      `${within}/agents/${agentId}`,
      `${within}/agents/${agentId}/talk`,
      `${within}/agents/${agentId}/versions`,
      `${within}/knowledge-bases`,
      `${within}/inbound-deployments`,
      `${within}/campaigns/new`,
    ];
    for (const address of addresses) {
      for (const width of [1440, 360]) {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(`${url}${address}`);
        await settle(page);
        t.equal(await page.evaluate('window.broken === undefined'), true, 'no script of others runs');
        const whole =
          "[...document.querySelectorAll('main .mantine-Badge-label')].every((one) => one.scrollWidth <= one.clientWidth + 1)";
        t.ok(await page.evaluate<boolean>(whole), `${address} leaves its badges whole at ${width} px`);
        const fits = `document.documentElement.scrollWidth <= ${width}`;
        t.ok(await page.evaluate<boolean>(fits), `${address} fits ${width} px: ${await tooWide(page)}`);
        if (process.env['PICTURES'] !== undefined)
          await page.screenshot({
            path: `${process.env['PICTURES']}/hostile${address.slice(within.length).replace(/\W+/g, '-').slice(0, 20)}-${width}.png`,
          });
      }
    }

    await page.setViewportSize({ width: 1440, height: 800 });
    await page.goto(`${url}${within}/calls/${call}`);
    const transcript = page.getByRole('region', { name: 'Transcript' });
    for (const text of [TAGS, TURNED, EMOJI, FORMULA]) await transcript.getByText(text).first().waitFor();
    await page.goto(`${url}${within}/calls`);
    await page.getByRole('row').getByText(NAME).waitFor();
    for (const kind of ['Calls', 'Transcripts, a turn a line']) {
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Export' }).click();
      await page.getByRole('menuitem', { name: kind, exact: true }).click();
      const csv = await readFile(await (await download).path(), 'utf8');
      t.match(csv, call);
      t.notMatch(csv, /(^|,)"?[=@]/m, `no cell of ${kind} is a formula`);
    }
    t.same(
      problems.filter((problem) => !/status of 404/.test(problem)),
      [],
      'nothing went wrong in the pages',
    );
  },
);
