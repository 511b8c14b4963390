import t from 'tap';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, seriousFaults, settle, skip } from './fixtures/console-browser.ts';
import { signIn } from './fixtures/people.ts';

// What one sees of a conversation with a draft besides its words, in a browser: only where somebody asks for it
// (`npm run test:long`).

t.setTimeout(600_000);

void t.test(
  'a draft is tried: its tools mocked, its flow followed',
  { skip: skip || (!LONG && 'npm run test:long') },
  async (t) => {
    const opened = await openConsole(t);
    const { demonstration, problems, project, url } = opened;
    const { agentId, rest } = demonstration;
    const { page } = await signIn(opened, OWNER.email);
    const agentSaid = page.locator('[data-who=agent]');
    const open = async () => {
      await page.goto(`${url}/projects/${project}/agents/${agentId}/talk`);
      await settle(page);
    };
    const begin = async () => {
      await page.getByRole('button', { name: 'Type', exact: true }).click();
      await agentSaid.first().waitFor();
    };
    const write = async (text: string) => {
      await page.getByLabel('Type to the agent').fill(text);
      await page.keyboard.press('Enter');
      await page.locator('[data-who=caller]').getByText(text).waitFor();
    };
    const end = () => page.getByRole('button', { name: 'End', exact: true }).click();

    await t.test('a tool that is mocked gives the answer that was written', async (t) => {
      await open();
      await page.getByRole('switch', { name: 'Mock book_table' }).check();
      await page.getByLabel('Answer of book_table').fill('{"reference":"MOCK-77"}');
      t.same(await seriousFaults(page), []);
      await begin();
      await write('A table for two on Friday at seven, please');
      const side = page.getByRole('tabpanel', { name: /^Tools/ });
      await side.getByText('MOCK-77').waitFor();
      await end();
      await page.getByRole('button', { name: 'Save as test' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Tools answer as they did in this call (1)').waitFor();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    });

    await t.test('a tool that is to fail does', async () => {
      await page.getByText('Fails', { exact: true }).click();
      await page.getByLabel('Why book_table fails').fill('The kitchen is closed.');
      await begin();
      await write('A table for two on Friday at seven, please');
      await page
        .getByRole('tabpanel', { name: /^Tools/ })
        .getByText('The kitchen is closed.')
        .waitFor();
      await end();
    });

    await t.test('the node where the call is is lit', async (t) => {
      await rest.patch(`/v1/agents/${agentId}`, {
        flow_definition: {
          start_node_id: 'hello',
          nodes: [
            { id: 'hello', name: 'Welcome', type: 'say', text: 'Welcome to the bistro.' },
            { id: 'first', name: 'First question', type: 'conversation', prompt: 'Ask for the day.' },
            { id: 'second', name: 'Second question', type: 'conversation', prompt: 'Ask for the time.' },
            { id: 'over', name: 'Goodbye', type: 'end', message: 'Goodbye.' },
          ],
          edges: [
            { id: 'on', from: 'hello', to: 'first', condition: { type: 'always' } },
            { id: 'one', from: 'first', to: 'second', condition: { type: 'dtmf', digits: '1' } },
            { id: 'two', from: 'second', to: 'over', condition: { type: 'dtmf', digits: '2' } },
          ],
        },
      });
      await open();
      await begin();
      const lit = page.locator('[data-lit]');
      await lit.getByText('First question').waitFor();
      t.equal(await lit.count(), 1);
      t.same(await seriousFaults(page), []);
      await page.getByRole('button', { name: '1', exact: true }).click();
      await lit.getByText('Second question').waitFor();
      t.equal(await lit.count(), 1);
      await end();
      await lit.waitFor({ state: 'detached' });
    });

    await t.test('variables are given to the call, and shown', async () => {
      await rest.patch(`/v1/agents/${agentId}`, {
        flow_definition: null,
        greeting: 'Good evening, {{guest}}.',
        config: { variables: [{ name: 'guest', default: 'dear guest' }] },
      });
      await open();
      await page.getByRole('textbox', { name: 'guest' }).fill('<b>Ada</b>');
      await begin();
      await agentSaid.getByText('Good evening, <b>Ada</b>.').waitFor();
      await page.getByRole('tab', { name: 'Variables' }).click();
      const side = page.getByRole('tabpanel', { name: 'Variables' });
      await side.getByText('guest', { exact: true }).waitFor();
      await side.getByText('<b>Ada</b>').waitFor();
      await end();
    });

    t.same(problems, [], 'no errors in the browser');
  },
);
