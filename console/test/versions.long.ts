import type { Page } from 'playwright-core';
import t from 'tap';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, seriousFaults, settle, skip } from './fixtures/console-browser.ts';
import { signIn } from './fixtures/people.ts';

// An agent from a change that is not saved to the version that callers get, in a browser: tabs, tests, comparison, gate. Only
// where somebody asks for it (`npm run test:long`).

t.setTimeout(600_000);

void t.test(
  'versions are made, tested and published',
  { skip: skip || (!LONG && 'npm run test:long') },
  async (t) => {
    const opened = await openConsole(t);
    const { demonstration, problems, project, url } = opened;
    const { agentId, rest } = demonstration;
    const { page, context } = await signIn(opened, OWNER.email);
    const { version: first, system_prompt } = await rest.get<{ version: number; system_prompt: string }>(
      `/v1/agents/${agentId}`,
    );
    const changed = `${system_prompt} Offer a table on the terrace.`;
    const drawer = page.getByRole('dialog');
    const open = async (path: string) => {
      await page.goto(`${url}/projects/${project}/agents/${agentId}${path}`);
      await settle(page);
    };

    await t.test('what is not saved is there in every tab, and when one comes back', async (t) => {
      await open('?section=prompt');
      const other = await context.newPage();
      await other.goto(page.url());
      await settle(other);
      const greeting = (tab: Page) => tab.getByRole('textbox', { name: 'Greeting', exact: true });
      const prompt = (tab: Page) => tab.getByRole('textbox', { name: 'System prompt' });
      await prompt(page).fill(changed);
      await other.getByText('1 unsaved').waitFor();
      t.equal(await prompt(other).inputValue(), changed);
      await other.goto(`${url}/projects/${project}/agents/${agentId}?section=greeting`);
      await greeting(other).fill('Good night.');
      await page.getByText('2 unsaved').waitFor();
      await page.getByRole('link', { name: 'Calls', exact: true }).click();
      await page.getByRole('heading', { name: 'Calls' }).waitFor();
      await page.goBack();
      await page.getByText('2 unsaved').waitFor();
      await page.getByRole('button', { name: 'More ways to save' }).click();
      await page.getByRole('menuitem', { name: 'Save as a draft' }).click();
      await page.getByRole('button', { name: `Publish v${first + 1}` }).waitFor();
      await other.getByRole('button', { name: `Publish v${first + 1}` }).waitFor();
      await other.close();
      t.match(await rest.get(`/v1/agents/${agentId}`), {
        system_prompt: changed,
        greeting: 'Good night.',
      });
      await page.getByRole('button', { name: 'Prompt 1 differ from live' }).waitFor();
      await page.getByRole('button', { name: 'Greeting 1 differ from live' }).waitFor();
    });

    await t.test('a test is written, fails, and says why', async (t) => {
      await open('/tests');
      await page.getByRole('button', { name: 'New test' }).click();
      await page.getByRole('menuitem', { name: /^Script/ }).click();
      await drawer.getByRole('textbox', { name: 'Name' }).fill('Says when it closes');
      const turn = drawer.getByRole('group', { name: 'Turn 1', exact: true });
      await turn.getByRole('textbox', { name: 'Caller' }).fill('When do you close?');
      await turn.getByRole('button', { name: 'Add' }).click();
      await turn.getByRole('textbox', { name: 'Text' }).fill('never');
      await drawer.getByRole('button', { name: 'Save' }).click();
      await drawer.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Run all' }).click();
      const runs = page.getByRole('row', { name: `v${first + 1}` });
      await runs.getByText('Failed').waitFor();
      await runs.getByRole('img', { name: '0 of 1 passed' }).waitFor();
      await runs.getByRole('button').click();
      await drawer.getByText('Says when it closes').click();
      await drawer.getByText('from noon until eleven').last().waitFor();
      await drawer.getByText('When do you close?').waitFor();
      await drawer.getByText('Says “never”').waitFor();
      t.same(await seriousFaults(page), []);
      await page.keyboard.press('Escape');
      await drawer.waitFor({ state: 'detached' });

      // And found from anywhere.
      await page.keyboard.press('Control+K');
      const finder = page.getByRole('dialog', { name: /^Find a page, or a record/ });
      await finder.getByRole('textbox').fill('when it closes');
      await finder.getByRole('button', { name: /Says when it closes/ }).click();
      await page.waitForURL(/record=tst_/);
      await finder.waitFor({ state: 'detached' });
      t.equal(await drawer.getByRole('textbox', { name: 'Name' }).inputValue(), 'Says when it closes');
      await drawer.getByRole('button', { name: 'Cancel' }).click();
      await drawer.waitFor({ state: 'detached' });
      t.notMatch(page.url(), 'record=');
    });

    await t.test('only what passed its tests is published', async (t) => {
      await open('/versions');
      const pinned = { mode: 'pinned', splits: [{ version: first, weight: 100 }] };
      t.match(await rest.get(`/v1/agents/${agentId}/traffic`), pinned);
      await page.getByRole('combobox', { name: 'Add a version' }).click();
      await page.getByRole('option', { name: `v${first + 1}` }).click();
      await page.getByRole('switch', { name: 'Only versions that passed their tests' }).press('Space');
      await page.getByRole('button', { name: 'Publish', exact: true }).click();
      await page.getByText('Not published').waitFor();
      t.match(await rest.get(`/v1/agents/${agentId}/traffic`), pinned);
      t.same(await seriousFaults(page), []);
      await page.getByRole('link', { name: 'Run the tests' }).click();
      await page.getByRole('button', { name: 'Says when it closes' }).click();
      await drawer.getByRole('textbox', { name: 'Text' }).fill('eleven');
      await drawer.getByRole('button', { name: 'Save' }).click();
      await drawer.waitFor({ state: 'detached' });
      for (const version of [first, first + 1]) {
        await page.getByRole('button', { name: 'How to run' }).click();
        await page.getByRole('combobox', { name: 'Version' }).click();
        await page.getByRole('option', { name: `v${version}` }).click();
        await page.getByRole('button', { name: `Run all on v${version}` }).click();
        await page.keyboard.press('Escape');
        await page
          .getByRole('row', { name: `v${version}` })
          .getByText('Passed')
          .waitFor();
      }
      await page.getByRole('tab', { name: 'Versions' }).click();
      await page.getByRole('combobox', { name: 'Add a version' }).click();
      await page.getByRole('option', { name: `v${first + 1}` }).click();
      await page.getByRole('switch', { name: 'Only versions that passed their tests' }).press('Space');
      await page.getByRole('button', { name: 'Publish', exact: true }).click();
      await page.getByText('New calls follow the new rule.').waitFor();
      t.match(await rest.get(`/v1/agents/${agentId}/traffic`), {
        require_passed_tests: true,
        splits: [
          { version: first, weight: 50 },
          { version: first + 1, weight: 50 },
        ],
      });
    });

    await t.test('any two versions are compared, named and brought back', async (t) => {
      await page.getByRole('radio', { name: `Compare from version ${first}`, exact: true }).check();
      await page.getByRole('radio', { name: `Compare to version ${first + 1}`, exact: true }).check();
      await page.getByRole('heading', { name: `v${first} and v${first + 1}` }).waitFor();
      await page.getByRole('cell', { name: /Offer a table on the terrace\.$/ }).waitFor();
      const note = page.getByRole('textbox', { name: `Note of version ${first + 1}` });
      await note.fill('At night');
      await note.press('Enter');
      await eventually('the note is kept', async () => {
        const { items } = await rest.get<{ items: { label: string | null }[] }>(
          `/v1/agents/${agentId}/versions`,
        );
        return items[0]!.label === 'At night';
      });
      const row = page
        .getByRole('row')
        .filter({ has: page.getByLabel(`Note of version ${first}`, { exact: true }) });
      await row.getByRole('button', { name: 'Restore' }).click();
      await drawer.getByRole('button', { name: 'Restore' }).click();
      await page.getByText(`Version ${first} is back, as version ${first + 2}.`).waitFor();
      await page.getByRole('radio', { name: `Compare from version ${first + 1}`, exact: true }).check();
      await page.getByRole('radio', { name: `Compare to version ${first + 2}`, exact: true }).check();
      await page.getByRole('heading', { name: `v${first + 1} and v${first + 2}` }).waitFor();
      await page.getByText('Greeting', { exact: true }).waitFor();
      await page.getByRole('radio', { name: `Compare from version ${first}`, exact: true }).check();
      await page.getByText('They do the same.').waitFor();
      t.same(await seriousFaults(page), []);
    });

    await t.test('a flow that lies upside down is tidied', async (t) => {
      await rest.patch(`/v1/agents/${agentId}`, {
        flow_definition: {
          start_node_id: 'hello',
          nodes: [
            { id: 'over', name: 'Goodbye', type: 'end', message: 'Goodbye.', position: { x: 40, y: 40 } },
            { id: 'hello', name: 'Welcome', type: 'say', text: 'Welcome.', position: { x: 40, y: 400 } },
          ],
          edges: [{ id: 'on', from: 'hello', to: 'over', condition: { type: 'always' } }],
        },
      });
      await open('/flow');
      const node = (id: string) => page.locator(`.react-flow__node[data-id="${id}"]`);
      const isBelow = async () => {
        const [hello, over] = [await node('hello').boundingBox(), await node('over').boundingBox()];
        return over!.y >= hello!.y + hello!.height;
      };
      await node('hello').waitFor();
      t.notOk(await isBelow());
      await page.getByRole('button', { name: 'Tidy up' }).click();
      await eventually('what comes first stands first', isBelow);
      await page.getByRole('button', { name: /^Undo/ }).click();
      await eventually('they are back where they were', async () => !(await isBelow()));
    });

    t.same(
      problems.filter((problem) => !/status of 4(09|22)/.test(problem)),
      [],
      'nothing went wrong in the pages',
    );
  },
);
