import type { Locator } from 'playwright-core';
import t from 'tap';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, seriousFaults, settle, skip } from './fixtures/console-browser.ts';
import { signIn } from './fixtures/people.ts';

// A flow from its first node to the call that goes through it, in a browser: only where somebody asks for it
// (`npm run test:long`).

interface Flow {
  start_node_id: string;
  nodes: { id: string; type: string; text?: string }[];
  edges: { from: string; to: string; condition: { type: string; digits?: string } }[];
}

t.setTimeout(600_000);

void t.test(
  'a flow is drawn, published and walked',
  { skip: skip || (!LONG && 'npm run test:long') },
  async (t) => {
    const opened = await openConsole(t);
    const { demonstration, desk, problems, project, url } = opened;
    const { agentId, lines, orgId, rest } = demonstration;
    const { page } = await signIn(opened, OWNER.email);
    const canvas = page.getByRole('application', { name: 'Flow' });
    const node = (id: string) => canvas.locator(`.react-flow__node[data-id="${id}"]`);
    const edge = (from: string, to: string) => canvas.locator(`[aria-label="Edge from ${from} to ${to}"]`);
    const inspector = page.getByRole('complementary').last();
    const id = inspector.getByRole('textbox', { name: 'ID' });
    const start = (of: string) => node(of).getByText('start', { exact: true });
    const undo = page.getByRole('button', { name: /^Undo/ });
    const redo = page.getByRole('button', { name: /^Redo/ });
    const add = async (kind: string) => {
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByRole('menuitem', { name: kind, exact: true }).click();
    };
    const drag = async (from: Locator, to: { x: number; y: number }) => {
      const { x, y } = await middleOf(from);
      await page.mouse.move(x, y);
      await page.mouse.down();
      await page.mouse.move(to.x, to.y, { steps: 12 });
      await page.mouse.up();
    };
    const stored = async () =>
      (await rest.get<{ flow_definition: Flow | null }>(`/v1/agents/${agentId}`)).flow_definition;
    const { version } = await rest.get<{ version: number }>(`/v1/agents/${agentId}`);
    const next = version + 1;
    await rest.put(`/v1/agents/${agentId}/traffic`, {
      mode: 'pinned',
      splits: [{ version, weight: 100 }],
      require_passed_tests: false,
    });

    await t.test('what is wrong with a node stands at it', async (t) => {
      await page.goto(`${url}/projects/${project}/agents/${agentId}/flow`);
      await page.getByRole('button', { name: 'Begin a flow' }).click();
      await node('end').waitFor();
      await add('Say');
      await node('say').getByText('text: Field required').waitFor();
      await inspector.getByText('Field required').waitFor();
      await page.getByText('1 to mend').waitFor();
      await page.getByRole('button', { name: 'Save', exact: true, disabled: true }).waitFor();
      t.same(await seriousFaults(page), []);
      await inspector.getByRole('textbox', { name: 'Text' }).fill('We are closed on Mondays.');
      await node('say').getByText('is not reachable from the start node').waitFor();
    });

    await t.test('a node with another id is still the one that is changed', async (t) => {
      await id.fill('start');
      await id.press('Enter');
      await inspector.getByText('Another node has this ID').waitFor();
      t.equal(await node('say').count(), 1);
      await id.fill('closed');
      await id.press('Enter');
      await node('closed').waitFor();
      await page.evaluate(
        'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn())))',
      );
      t.equal(await id.inputValue(), 'closed');
      t.equal(await canvas.locator('.react-flow__node.selected').getAttribute('data-id'), 'closed');
      await inspector.getByRole('textbox', { name: 'Text' }).fill('On Mondays we are closed.');
    });

    await t.test('nodes are moved, and joined from handle to handle', async () => {
      const { x, y } = await middleOf(node('start'));
      await drag(node('closed'), { x: x - 230, y: y - 60 });
      await drag(
        node('closed').locator('.react-flow__handle.source'),
        await middleOf(node('start').locator('.react-flow__handle.target')),
      );
      await edge('closed', 'start').waitFor();
      await node('closed').click();
      await inspector.getByRole('button', { name: 'Start here' }).click();
      await start('closed').waitFor();
      await page.getByText('Unsaved', { exact: true }).waitFor();
      await node('closed').getByText('On Mondays we are closed.').waitFor();
    });

    await t.test('steps are undone one by one, and done again', async (t) => {
      await undo.click();
      await start('start').waitFor();
      await undo.click();
      await edge('closed', 'start').waitFor({ state: 'detached' });
      await redo.click();
      await edge('closed', 'start').waitFor();
      await redo.click();
      await start('closed').waitFor();
      await page.getByRole('button', { name: /^Redo/, disabled: true }).waitFor();

      // Two that are added one after the other can both be seen, and go by keyboard.
      await add('Branch');
      await node('branch').waitFor();
      await add('Branch');
      await canvas.locator('.react-flow__node.selected[data-id="branch_2"]').waitFor();
      t.notSame(await middleOf(node('branch')), await middleOf(node('branch_2')));
      await node('branch_2').press('Delete');
      await node('branch_2').waitFor({ state: 'detached' });
      await page.keyboard.press('Control+Z');
      await node('branch_2').waitFor();
      for (let step = 0; step < 2; step++) await page.keyboard.press('Control+Z');
      await node('branch').waitFor({ state: 'detached' });
    });

    await t.test('an edge is told what it waits for', async () => {
      await edge('start', 'end').press('Enter');
      await inspector.getByRole('heading', { name: 'Start → Goodbye' }).waitFor();
      await inspector.getByRole('combobox', { name: 'Condition: Type' }).click();
      await page.getByRole('option', { name: 'Keys' }).click();
      await page.getByText('1 to mend').waitFor();
      await inspector.getByRole('textbox', { name: 'Digits' }).fill('9');
      await canvas.getByText('keys 9').waitFor();
      await page.getByText('Unsaved', { exact: true }).waitFor();
    });

    await t.test('nothing is drawn from an end', async (t) => {
      await node('closed').locator('.react-flow__handle.source').waitFor();
      await node('end').locator('.react-flow__handle.target').waitFor();
      t.equal(await node('end').locator('.react-flow__handle.source').count(), 0);
    });

    await t.test('by keyboard alone a node is moved, and joined to another one', async (t) => {
      const placed = async (id: string) =>
        /translate\([^)]*\)/.exec((await node(id).getAttribute('style'))!)![0];
      const before = await placed('end');
      await node('end').focus();
      await page.keyboard.press('Enter');
      for (let step = 0; step < 3; step++) await page.keyboard.press('ArrowRight');
      await eventually('it has moved', async () => (await placed('end')) !== before);
      const moved = await placed('end');
      await page.reload();
      await node('end').waitFor();
      t.equal(await placed('end'), moved, 'where it was moved to is kept');
      await node('closed').focus();
      await page.keyboard.press('Enter');
      const to = inspector.getByRole('combobox', { name: 'Add an edge to' });
      await to.focus();
      await page.keyboard.type('Goodbye');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await edge('closed', 'end').waitFor();
      await inspector.getByRole('heading', { name: /→ Goodbye$/ }).waitFor();
      t.same(await seriousFaults(page), []);
      await edge('closed', 'end').press('Delete');
      await edge('closed', 'end').waitFor({ state: 'detached' });
    });

    await t.test(
      'the canvas is as light or dark as the rest of the page, whatever the system is',
      async () => {
        await page.getByRole('button', { name: /^Account of/ }).click();
        await page.getByRole('menuitem', { name: 'Dark' }).click();
        await page.locator('.react-flow.dark').waitFor();
        await page.keyboard.press('Escape');
        await page.getByRole('button', { name: /^Account of/ }).click();
        await page.getByRole('menuitem', { name: 'As the system' }).click();
        await page.locator('.react-flow.light').waitFor();
        await page.keyboard.press('Escape');
      },
    );

    await t.test('it is saved as a draft, kept over a reload, and published', async (t) => {
      await page.reload();
      await start('closed').waitFor();
      await page.getByText('Unsaved', { exact: true }).waitFor();
      await page.keyboard.press('Control+S');
      await page.getByText(`Saved as version ${next}.`).waitFor();
      t.match(await stored(), {
        start_node_id: 'closed',
        nodes: [
          { id: 'start', type: 'conversation' },
          { id: 'end', type: 'end' },
          { id: 'closed', type: 'say', text: 'On Mondays we are closed.' },
        ],
        edges: [
          { from: 'start', to: 'end', condition: { type: 'dtmf', digits: '9' } },
          { from: 'closed', to: 'start', condition: { type: 'always' } },
        ],
      });
      await page.getByText(`v${next} draft`).waitFor();
      await page.getByRole('tab', { name: 'Editor' }).click();
      await page.getByRole('button', { name: `Publish v${next}` }).click();
      await page.getByText(`Callers get version ${next} now.`).waitFor();
      t.match(await rest.get(`/v1/agents/${agentId}/traffic`), {
        mode: 'pinned',
        splits: [{ version: next, weight: 100 }],
      });
    });

    await t.test('a call goes through it', async (t) => {
      const placed = await desk.place({
        carrier: 'plivo',
        to: lines.plivo!.number,
        steps: [{ press: '9' }, { pause_ms: 30_000 }],
      });
      await placed.outcome;
      const { items } = await rest.get<{ items: { session_id: string }[] }>(
        `/v1/orgs/${orgId}/projects/${project}/sessions?limit=1`,
      );
      const sessionId = items[0]!.session_id;
      t.match(await rest.get(`/v1/sessions/${sessionId}`), { detail: { agent_version: next } });
      const walked = await eventually('the call has come to its end', async () => {
        const events = await rest.get<{ items: { data: { node_id?: string } }[] }>(
          `/v1/sessions/${sessionId}/events?type=flow_node`,
        );
        const nodes = events.items.map(({ data }) => data.node_id);
        return nodes.includes('end') && nodes;
      });
      t.same(walked, ['closed', 'start', 'end']);
      await page.goto(`${url}/projects/${project}/calls/${sessionId}`);
      await page.getByRole('region', { name: 'Transcript' }).getByText('On Mondays we are closed.').waitFor();
    });

    await t.test('it is taken away again', async (t) => {
      await page.goto(`${url}/projects/${project}/agents/${agentId}/flow`);
      await settle(page);
      await page.getByRole('button', { name: 'No flow' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Take it away' }).click();
      await page.getByRole('button', { name: 'Discard' }).click();
      await node('closed').waitFor();
      await page.getByRole('button', { name: 'No flow' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Take it away' }).click();
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText(`Saved as version ${next + 1}.`).waitFor();
      t.equal(await stored(), null);
    });

    await t.test('what others save meanwhile is said, and taken the place of knowingly', async (t) => {
      const flowOf = (text: string) => ({
        start_node_id: 'hello',
        nodes: [
          { id: 'hello', type: 'say', text },
          { id: 'end', type: 'end', message: 'Goodbye.', position: { x: 0, y: 180 } },
        ],
        edges: [{ id: 'on', from: 'hello', to: 'end', condition: { type: 'always' } }],
      });
      const others = async (change: object) =>
        (await rest.patch<{ version: number }>(`/v1/agents/${agentId}`, change)).version;
      const text = inspector.getByRole('textbox', { name: 'Text' });
      const save = page.getByRole('button', { name: 'Save', exact: true });
      const saved = (version: number) => page.getByText(`Version ${version} was saved meanwhile`);
      await others({ flow_definition: flowOf('Theirs.') });
      await page.reload();
      await node('hello').click();
      await text.fill('Mine.');
      await saved(await others({ system_prompt: 'Others have written this.' })).waitFor();
      await page.getByText('Its flow is the same').waitFor();
      await page.getByRole('button', { name: 'Save', exact: true, disabled: false }).waitFor();

      // The page is told by the refusal: what it asks meanwhile waits.
      const asked = Promise.withResolvers<void>();
      const agent = `**/v1/agents/${agentId}`;
      await page.route(agent, async (route) => {
        if (route.request().method() === 'GET') await asked.promise;
        await route.continue();
      });
      const version = await others({ flow_definition: flowOf('Theirs, too.') });
      const refused = page.waitForResponse((response) => response.status() === 409);
      await page.keyboard.press('Control+S');
      await refused;
      asked.resolve();
      await page.getByText('Not saved').waitFor();
      await page.unroute(agent);
      await saved(version).waitFor();
      await page.getByText('yours would take its place').waitFor();
      t.equal(await save.isEnabled(), false);
      await page.keyboard.press('Control+S');
      t.same(await seriousFaults(page), []);
      t.match(await stored(), { nodes: [{ text: 'Theirs, too.' }, {}] }, 'no key saves over it either');
      await page.getByRole('button', { name: 'Save mine over theirs' }).click();
      await page.getByText(`Saved as version ${version + 1}.`).waitFor();
      t.match(await stored(), { nodes: [{ text: 'Mine.' }, {}] });
      t.equal(await saved(version).count(), 0);

      await text.fill('Mine again.');
      await saved(await others({ flow_definition: flowOf('Theirs at last.') })).waitFor();
      await page.getByRole('button', { name: 'Load theirs' }).click();
      await node('hello').getByText('Theirs at last.').waitFor();
      t.equal(await save.count(), 0);
    });

    t.same(
      problems,
      ['Failed to load resource: the server responded with a status of 409 (Conflict)'],
      'nothing went wrong in the pages but what was refused',
    );
  },
);

async function middleOf(one: Locator): Promise<{ x: number; y: number }> {
  const { x, y, width, height } = (await one.boundingBox())!;
  return { x: x + width / 2, y: y + height / 2 };
}
