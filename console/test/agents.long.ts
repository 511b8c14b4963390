import t from 'tap';
import { signWebhook, signWebhookBody } from '@parley/shared/http/webhook-signature';
import { eventually } from '../../embedded/test/fixtures/system/eventually.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, settle, skip } from './fixtures/console-browser.ts';
import { signIn } from './fixtures/people.ts';
import { holdTypedCall } from './fixtures/typed-call.ts';

// What somebody does with an agent besides writing its prompt, in a browser: its webhooks, its voice, its copies and its end.
// Only where somebody asks for it (`npm run test:long`).

interface Webhooks {
  start_call: { enabled: boolean; require_timestamp: boolean; allow_overrides: boolean; url: string };
  call_ended: {
    enabled: boolean;
    url: string | null;
    web_calls: boolean;
    include_unanswered: boolean;
    timeout_ms: number;
  };
}

t.setTimeout(900_000);

void t.test('an agent is run', { skip: skip || (!LONG && 'npm run test:long') }, async (t) => {
  const opened = await openConsole(t);
  const { demonstration, problems, project, receivers, url } = opened;
  const { agentId, orgId, rest } = demonstration;
  const { page } = await signIn(opened, OWNER.email);
  const inProject = `/v1/orgs/${orgId}/projects/${project}`;
  const dialog = page.getByRole('dialog');
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const open = async (path: string) => {
    await page.goto(`${url}/projects/${project}/agents/${path}`);
    await settle(page);
  };
  const webhooks = () => rest.get<Webhooks>(`/api/v1/webhooks/agents/${agentId}`);
  /** Presses a switch, and waits until the server knows. */
  const turn = async (name: string, isStored: (now: Webhooks) => boolean) => {
    await page.getByRole('switch', { name, disabled: false }).press('Space');
    await eventually(`${name} is stored`, async () => isStored(await webhooks()));
  };

  await t.test('calls are started by a secret that was shown, until there is another one', async (t) => {
    const { url: address } = (await webhooks()).start_call;
    /** What a request with nobody to call is answered: 422 where its signature is good. */
    const answerTo = async (secret: string, form: 'timestamp' | 'body' = 'timestamp') => {
      const body = JSON.stringify({ order: crypto.randomUUID() });
      const signature =
        form === 'timestamp' ? signWebhook(secret, body, Date.now()) : signWebhookBody(secret, body);
      const headers = { 'content-type': 'application/json', 'x-webhook-signature': signature };
      return (await fetch(address, { method: 'POST', headers, body })).status;
    };
    await open(`${agentId}/advance`);
    t.equal(await page.getByLabel('Address', { exact: true }).first().inputValue(), address);
    await button('Make a secret').click();
    const make = page.getByRole('dialog', { name: 'Make a secret' });
    await make.getByRole('button', { name: 'Make it' }).click();
    const first = await make.getByLabel('Secret', { exact: true }).inputValue();
    await make.getByRole('button', { name: 'Done' }).click();
    await page.getByText(`•••• ${first.slice(-4)}`).waitFor();
    await page.getByRole('switch', { name: 'Start-call webhook', checked: true }).waitFor();
    t.equal(await answerTo(first), 422);
    t.equal(await answerTo(first, 'body'), 422);
    await turn('Only signatures with a timestamp', ({ start_call }) => start_call.require_timestamp);
    t.equal(await answerTo(first, 'body'), 401);
    await turn('Requests may override settings', ({ start_call }) => start_call.allow_overrides);

    await button('Rotate').first().click();
    const rotate = page.getByRole('dialog', { name: 'Rotate the secret' });
    await rotate.getByLabel('Keep the old one valid for').fill('0');
    await rotate.getByRole('button', { name: 'Rotate' }).click();
    const second = await rotate.getByLabel('Secret', { exact: true }).inputValue();
    await rotate.getByRole('button', { name: 'Done' }).click();
    await page.getByText(`•••• ${second.slice(-4)}`).waitFor();
    t.equal(await answerTo(first), 401);
    t.equal(await answerTo(second), 422);
    await turn('Start-call webhook', ({ start_call }) => !start_call.enabled);
    t.equal(await answerTo(second), 403);
    t.match((await webhooks()).start_call, { require_timestamp: true, allow_overrides: true });
  });

  await t.test('the address that is told of calls is changed and tried', async () => {
    const address = page.getByLabel('Address', { exact: true }).nth(1);
    const sample = button('Send a sample');
    const save = async (isStored: (now: Webhooks) => boolean) => {
      await button('Save').click();
      await eventually('it is stored', async () => isStored(await webhooks()));
      await page.getByRole('button', { name: 'Send a sample', disabled: false }).waitFor();
    };
    await address.fill('ftp://crm.example.test/calls');
    await page.getByRole('button', { name: 'Send a sample', disabled: true }).waitFor();
    await button('Save').click();
    await eventually(
      'it is refused at its field',
      async () => (await address.getAttribute('aria-invalid')) === 'true',
    );
    await address.fill(`${receivers.origin}/nothing`);
    await page.getByRole('switch', { name: 'Web calls' }).press('Space');
    await page.getByRole('switch', { name: 'Calls that nobody answered' }).press('Space');
    await page.getByLabel('Time to answer').fill('2000');
    await save(
      ({ call_ended: now }) =>
        now.url === `${receivers.origin}/nothing` && !now.web_calls && now.timeout_ms === 2000,
    );
    await sample.click();
    await page.getByText('Not taken').waitFor();
    await page.getByText('HTTP 404').waitFor();
    await address.fill(receivers.webhookUrl);
    await page.getByRole('switch', { name: 'Web calls' }).press('Space');
    await page.getByRole('switch', { name: 'Call-ended webhook' }).press('Space');
    await save(({ call_ended: now }) => now.url === receivers.webhookUrl && now.web_calls && !now.enabled);
    await page.getByRole('switch', { name: 'Call-ended webhook' }).press('Space');
    await save(({ call_ended: now }) => now.enabled);
    await sample.click();
    await page.getByText(/^Taken in \d+ ms/).waitFor();
  });

  await t.test('a delivery is looked at and sent again', async (t) => {
    const sessionId = await holdTypedCall(opened, page, ['When do you close?']);
    await open(`${agentId}/advance`);
    const row = page.getByRole('row').filter({ hasText: 'Succeeded' });
    await row.getByRole('button').click();
    const delivery = page.getByRole('dialog', { name: 'Delivery' });
    await delivery.getByRole('button', { name: 'Show body' }).click();
    await delivery.getByText(sessionId).waitFor();
    await delivery.getByRole('button', { name: 'Redeliver' }).click();
    await delivery.getByText(/^2, last answer 200/).waitFor();
    t.match(await rest.get(`/v1/agents/${agentId}/webhook-deliveries`), { items: [{ attempts: 2 }] });
    await page.keyboard.press('Escape');
    await row.getByRole('cell', { name: '2', exact: true }).waitFor();
  });

  await t.test('a voice is heard before it is chosen', async () => {
    await page.addInitScript(
      'HTMLMediaElement.prototype.play = function () { window.played = this.src; return Promise.resolve(); };',
    );
    await open(`${agentId}?section=voice`);
    await page.getByRole('combobox', { name: 'Text-to-speech voice' }).click();
    await page.getByRole('option').first().click();
    await page.getByRole('textbox', { name: 'Sentence to speak' }).fill('The kitchen closes at ten.');
    await page.getByRole('button', { name: /^Hear / }).click();
    await eventually('it is heard', () =>
      page.evaluate<boolean>("window.played?.startsWith('blob:') === true"),
    );
    await button('Discard').click();
  });

  await t.test('what is attached is on, off and gone at once', async (t) => {
    await rest.post(`${inProject}/analyses`, { name: 'Mood', type: 'text', prompt: 'How?' });
    await open(`${agentId}?section=analyses`);
    await page.getByRole('combobox', { name: 'Attach an analysis' }).click();
    await page.getByRole('option', { name: 'Mood' }).click();
    const links = async () =>
      (await rest.get<{ items: { enabled: boolean }[] }>(`/v1/agents/${agentId}/post-call-analyses`)).items;
    await page.getByRole('switch', { name: 'Mood is on' }).press('Space');
    await eventually('it is off', async () => (await links()).some(({ enabled }) => !enabled));
    await page.getByRole('button', { name: 'Detach Mood' }).click();
    await page.getByRole('button', { name: 'Detach Mood' }).waitFor({ state: 'detached' });
    t.notOk((await links()).some(({ enabled }) => !enabled));
  });

  await t.test('what somebody else saves meanwhile is not lost', async (t) => {
    await open(`${agentId}?section=prompt`);
    await page.getByRole('textbox', { name: 'System prompt' }).fill('You are the night desk.');
    await page.getByText('1 unsaved').waitFor();
    await rest.patch(`/v1/agents/${agentId}`, { greeting: 'Good evening.' });
    await button('Save and go live').click();
    await page.getByText(/was saved meanwhile/).waitFor();
    await button('Save and go live').click();
    await page.getByText('Saved. Callers get it from now on.').waitFor();
    t.match(await rest.get(`/v1/agents/${agentId}`), {
      system_prompt: 'You are the night desk.',
      greeting: 'Good evening.',
    });
  });

  await t.test('an agent is copied, archived, brought back, and deleted for good', async (t) => {
    await page.goto(`${url}/projects/${project}/agents`);
    const choose = async (name: string, item: string) => {
      await button(`Actions for ${name}`).click();
      await page.getByRole('menuitem', { name: item, exact: true }).click();
    };
    const confirm = async (what: string, verb: string) => {
      const asked = page.getByRole('dialog', { name: what });
      await asked.getByRole('button', { name: verb }).click();
      await asked.waitFor({ state: 'detached' });
    };
    const begin = async (name: string) => {
      await button('New agent').click();
      await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
    };
    await begin('Lakeside Bistro');
    await dialog.getByRole('button', { name: 'Create agent' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await begin('Night desk');
    t.equal(await dialog.getByRole('alert').count(), 0, 'what was wrong before is not said of the next one');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });

    // One that numbers ring stays, and says which.
    await choose('Lakeside Bistro', 'Archive');
    await dialog.getByRole('button', { name: 'Archive' }).click();
    await dialog.getByRole('listitem').filter({ hasText: 'Emulated plivo' }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });

    await choose('Lakeside Bistro', 'Duplicate');
    const row = page.getByRole('row', { name: /Lakeside Bistro \(copy\)/ });
    const name = (await row.getByRole('link').textContent())!;
    await choose(name, 'Archive');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await row.waitFor();
    await choose(name, 'Archive');
    await confirm(`Archive ${name}`, 'Archive');
    await row.waitFor({ state: 'detached' });
    await page.getByText('Archived', { exact: true }).click();
    await choose(name, 'Restore');
    await row.waitFor({ state: 'detached' });
    await page.getByText('In use', { exact: true }).click();
    await choose(name, 'Archive');
    await confirm(`Archive ${name}`, 'Archive');
    await page.getByText('Archived', { exact: true }).click();
    await choose(name, 'Delete for good');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await row.waitFor();
    await choose(name, 'Delete for good');
    await confirm(`Delete ${name} for good`, 'Delete for good');
    await page.getByText('Nothing found').waitFor();
    t.match(await rest.get(`${inProject}/agents?archived=true`), { items: [] });
  });

  t.same(
    problems.filter((problem) => !/status of 4(04|09|12|22)/.test(problem)),
    [],
    'nothing went wrong in the pages',
  );
});
