import { readFile } from 'node:fs/promises';
import t from 'tap';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, settle, skip } from './fixtures/console-browser.ts';
import { drop } from './fixtures/drop.ts';
import { signIn } from './fixtures/people.ts';

// Records of each kind from the button that makes them to the one that deletes them, in a browser: only where somebody asks
// for it (`npm run test:long`). Tools, knowledge and audio are in records.long.ts.

t.setTimeout(900_000);

void t.test(
  'records of every kind are made, changed and deleted',
  { skip: skip || (!LONG && 'npm run test:long') },
  async (t) => {
    const opened = await openConsole(t);
    const { demonstration, problems, project, url } = opened;
    const { orgId, rest } = demonstration;
    const { page } = await signIn(opened, OWNER.email);
    const inProject = `/v1/orgs/${orgId}/projects/${project}`;
    const drawer = page.getByRole('dialog');
    const open = async (kind: string) => {
      await page.goto(`${url}/projects/${project}/${kind}`);
      await settle(page);
    };
    const field = (name: string) => drawer.getByRole('textbox', { name, exact: true });
    const button = (name: string) => drawer.getByRole('button', { name, exact: true });
    const choose = async (name: string, option: string | RegExp) => {
      await drawer.getByRole('combobox', { name, exact: true }).first().click();
      await page.getByRole('option', { name: option }).first().click();
    };
    const begin = () => page.getByRole('button', { name: 'New', exact: true }).first().click();
    const create = async () => {
      await button('Create').click();
      await drawer.waitFor({ state: 'detached' });
    };
    const openRecord = (name: string) => page.getByRole('button', { name, exact: true }).click();
    /** Saves the record that is open. */
    const save = async () => {
      await button('Save').click();
      await drawer
        .getByRole('button', { name: 'Save', disabled: true })
        .and(page.locator(':not([data-loading])'))
        .waitFor();
    };
    /** Deletes the record that is open. */
    const remove = async (name: string) => {
      await button('Delete').click();
      const confirm = page.getByRole('dialog', { name: `Delete ${name}` });
      await confirm.getByRole('button', { name: 'Delete' }).click();
      await drawer.first().waitFor({ state: 'detached' });
      await page.getByRole('button', { name, exact: true }).waitFor({ state: 'detached' });
    };
    const stored = async <T>(path: string, name: string): Promise<T | undefined> => {
      const { items } = await rest.get<{ items: ({ name: string } & T)[] }>(path);
      return items.find((one) => one.name === name);
    };

    await t.test('an analysis', async (t) => {
      await open('analyses');
      await page.getByText('Questions that are answered about a call once it is over.').first().waitFor();
      await begin();
      await button('Create').click();
      await drawer.getByText('Too small').first().waitFor();
      await field('Name').fill('Mood');
      await field('Prompt').fill('How did the caller feel?');
      await field('Output schema').fill('{"type": ');
      await drawer.getByText('This is no valid JSON yet.').waitFor();
      await field('Output schema').fill(
        '{"type": "object", "properties": {"mood": {"type": "string"}}, "required": ["mood"], "additionalProperties": false}',
      );
      await create();
      await page.getByRole('row', { name: /Mood/ }).getByText('structured').waitFor();
      await openRecord('Mood');
      await drawer.getByRole('switch', { name: 'Enabled' }).click({ force: true });
      await field('Prompt').fill('Was the caller content?');
      await save();
      const found = await stored<{ enabled: boolean; prompt: string; output_schema: object }>(
        `${inProject}/analyses`,
        'Mood',
      );
      t.match(found, {
        enabled: false,
        prompt: 'Was the caller content?',
        output_schema: { required: ['mood'] },
      });
      await remove('Mood');
    });

    await t.test('a database with columns', async (t) => {
      await open('databases');
      await begin();
      await field('Name').fill('Guests');
      await button('Add').click();
      const column = drawer.getByRole('group', { name: 'Column 1', exact: true });
      await column.getByRole('textbox', { name: 'Key' }).fill('Party size');
      await button('Create').click();
      await column.getByText('must be lower-case letters').waitFor();
      await column.getByRole('textbox', { name: 'Key' }).fill('party_size');
      await column.getByRole('combobox', { name: 'Type', exact: true }).click();
      await page.getByRole('option', { name: 'Number' }).click();
      await create();
      await openRecord('Guests');
      await drawer.getByText('0 rows').waitFor();
      await field('Name').fill('Guests of the week');
      await save();
      const found = await stored<{ id: string; columns: object[] }>(
        `${inProject}/databases`,
        'Guests of the week',
      );
      t.match(found!.columns, [{ key: 'party_size', type: 'number', source: { from: 'manual' } }]);
      await rest.post(`/v1/databases/${found!.id}/rows`, { values: { party_size: 4 } });
      await page.reload();
      await drawer.getByText('1 row', { exact: true }).waitFor();
      await drawer.getByRole('cell', { name: '4', exact: true }).waitFor();
      const download = page.waitForEvent('download');
      await button('Export as CSV').click();
      t.match(await readFile(await (await download).path(), 'utf8'), /party_size[^]*\b4\b/);
      await remove('Guests of the week');
    });

    await t.test('a number that the account has, and who answers it', async (t) => {
      await open('phone-numbers');
      await begin();
      await drawer.getByText('The account has it').click();
      await choose('Account', /plivo/i);
      await drawer.getByLabel('Number', { exact: true }).fill('hello');
      await button('Import').click();
      await drawer.getByRole('alert').waitFor();
      await drawer.getByLabel('Number', { exact: true }).fill('+1 (415) 555-0142');
      await button('Import').click();
      await drawer.waitFor({ state: 'detached' });
      await openRecord('+14155550142');
      await field('Label').fill('Night desk');
      await save();

      // An agent that was made a moment ago can be chosen.
      await page.keyboard.press('Escape');
      await page.getByRole('link', { name: 'Inbound' }).click();
      await begin();
      await drawer.getByRole('combobox', { name: 'Agent', exact: true }).first().click();
      await page.getByRole('option', { name: 'Lakeside Bistro' }).waitFor();
      await page.keyboard.press('Escape');
      await button('Cancel').click();
      await drawer.waitFor({ state: 'detached' });
      await page.getByRole('link', { name: 'Agents', exact: true }).click();
      await page.getByRole('button', { name: 'New agent' }).click();
      await drawer.getByRole('textbox', { name: 'Name' }).fill('Night desk');
      await drawer.getByRole('button', { name: 'Create agent' }).click();
      await page.getByRole('heading', { level: 1, name: 'Night desk' }).waitFor();
      await page.getByRole('link', { name: 'Inbound' }).click();

      await begin();
      await field('Name').fill('At night');
      await choose('Phone number', /4155550142/);
      await choose('Agent', 'Night desk');
      await drawer.getByRole('switch', { name: 'Availability' }).click({ force: true });
      await drawer.getByRole('definition').filter({ hasText: '09:00 to 18:00' }).nth(4).waitFor();
      const from = drawer.getByLabel('From', { exact: true });
      await from.fill('20:00');
      await drawer.getByLabel('To', { exact: true }).fill('06:00');
      await button('Create').click();
      await drawer
        .getByText(/before|later|after/)
        .first()
        .waitFor();
      await drawer.getByLabel('To', { exact: true }).fill('23:30');
      await drawer.getByRole('definition').filter({ hasText: '20:00 to 23:30' }).nth(4).waitFor();
      await drawer.getByRole('group', { name: 'Days' }).getByText('Sun', { exact: true }).click();
      await create();
      await page
        .getByRole('row', { name: /At night/ })
        .getByText('Night desk')
        .first()
        .waitFor();
      await openRecord('At night');
      await drawer.getByRole('definition').filter({ hasText: '20:00 to 23:30' }).nth(5).waitFor();
      const outside = drawer.getByRole('group', { name: 'Outside hours' });
      await outside.getByRole('combobox').first().click();
      await page.getByRole('option', { name: 'Message' }).click();
      await button('Save').click();
      await drawer.getByText('is needed for the type message').waitFor();
      await outside.getByRole('textbox', { name: 'Message' }).fill('We open at eight.');
      await drawer.getByText('Paused', { exact: true }).click();
      await save();
      const found = await stored<object>(`${inProject}/inbound-deployments`, 'At night');
      t.match(found, {
        status: 'paused',
        outside_hours: { type: 'message', message: 'We open at eight.' },
        availability: {
          windows: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sun'], start: '20:00', end: '23:30' }],
        },
      });
      await remove('At night');

      await open('phone-numbers');
      await openRecord('+14155550142');
      await button('Delete').click();
      const confirm = page.getByRole('dialog', { name: 'Delete +14155550142' });
      await confirm.getByRole('button', { name: 'Delete' }).click();
      await drawer.first().waitFor({ state: 'detached' });
    });

    await t.test('an account at a carrier', async (t) => {
      await open('telephony-accounts');
      await begin();
      await choose('Carrier', 'Twilio');
      await field('Name').fill('Spare');
      await drawer.getByLabel('Account SID').fill('AC00000000000000000000000000000000');
      await drawer.getByLabel('Auth token').fill('not-the-token');
      await button('Add and check').click();
      await drawer.waitFor({ state: 'detached' });
      await openRecord('Spare');
      await field('Name').fill('Spare line');
      await field('Maximum concurrent calls').fill('7');
      await save();
      t.match(await stored<object>(`/v1/orgs/${orgId}/telephony-accounts`, 'Spare line'), {
        max_concurrent_calls: 7,
      });
      t.notMatch(await drawer.first().innerHTML(), 'not-the-token', 'a secret is never shown again');
      await remove('Spare line');
      // One that numbers belong to stays, and says why.
      await page.getByRole('button', { name: /plivo/i }).click();
      await button('Delete').click();
      const confirm = page.getByRole('dialog', { name: /^Delete / });
      await confirm.getByRole('button', { name: 'Delete' }).click();
      await confirm.getByRole('alert').waitFor();
      await confirm.getByRole('button', { name: 'Cancel' }).click();
      await confirm.waitFor({ state: 'detached' });
      await button('Delete').click();
      await confirm.getByRole('button', { name: 'Cancel' }).waitFor();
      t.equal(
        await confirm.getByRole('alert').count(),
        0,
        'what went wrong before is not said of the next time',
      );
      await confirm.getByRole('button', { name: 'Cancel' }).click();
    });

    await t.test('lists of people, and of numbers that are not called', async (t) => {
      await open('recipient-lists');
      await begin();
      await field('Name').fill('Regulars');
      await drawer.getByText('Recipients', { exact: true }).click();
      await create();
      await openRecord('Regulars');
      await drop(page, drawer.getByText(/Drop a CSV file/), {
        name: 'regulars.csv',
        type: 'text/csv',
        content: Buffer.from(
          'phone;name;table\n+14155550171;Ada Lovelace;7\n+14155550172;Charles;\nhello;Nobody;\n',
        ),
      });
      await drawer.getByText('3 new, 0 updated, 0 left as they are.').waitFor();
      await drawer.getByText('3 numbers').waitFor();
      await drawer
        .getByRole('row', { name: /Nobody/ })
        .getByText('Invalid')
        .waitFor();
      const find = drawer.getByLabel('Find by name or number');
      await find.fill('love');
      await drawer.getByText('1 number', { exact: true }).waitFor();
      await drawer.getByRole('row', { name: /Ada Lovelace/ }).waitFor();
      await find.fill('');
      await drawer.getByText('3 numbers').waitFor();
      await field('Name').fill('Regular guests');
      await save();
      const download = page.waitForEvent('download');
      await button('Export as CSV').click();
      t.match(await readFile(await (await download).path(), 'utf8'), /\+14155550171.*Ada Lovelace.*,7,/);
      await drawer
        .getByRole('row', { name: /Charles/ })
        .getByRole('button', { name: 'Remove' })
        .click();
      await page
        .getByRole('dialog', { name: /^Remove \+14155550172/ })
        .getByRole('button', { name: 'Remove' })
        .click();
      await drawer.getByText('2 numbers').waitFor();
      await remove('Regular guests');

      await begin();
      await field('Name').fill('Asked us not to');
      await drawer.getByText('Suppression', { exact: true }).click();
      await create();
      await openRecord('Asked us not to');
      await drawer.getByLabel('Number to add').fill('+1 415 555 0173');
      await button('Add').click();
      await drawer.getByText('+14155550173').waitFor();
      await remove('Asked us not to');
      await openRecord('Do not call');
      await drawer.getByLabel('Number to add').waitFor();
      t.equal(await button('Delete').count(), 0, 'what cannot be deleted is not offered');
      await page.keyboard.press('Escape');
    });

    await t.test("a provider's key, and a model of one's own", async (t) => {
      await open('provider-credentials');
      await begin();
      await choose('Provider', /OpenAI/);
      await field('Name').fill('Own key');
      await drawer.getByLabel(/API key/i).fill('sk-0123456789abcdef');
      await button('Create').click();
      await drawer.waitFor({ state: 'detached' });
      await openRecord('Own key');
      await field('Name').fill('Our key');
      await save();
      await page.keyboard.press('Escape');

      await page.getByRole('link', { name: 'Models' }).click();
      await begin();
      await field('Name').fill('In house');
      await choose('Provider', /openai/i);
      await field('Model').fill('gpt-in-house');
      await button('Create').click();
      await drawer.getByText('Field required').waitFor();
      await field('Base URL').fill('https://models.example.test/v1');
      await create();
      await page.getByLabel('Search Models').fill('In house');
      await openRecord('In house');
      await field('Name').fill('In our house');
      await save();
      await page.getByLabel('Search Models').fill('');
      const { items } = await rest.get<{ items: { name: string; org_id: string | null }[] }>(
        `/v1/providers/models?org_id=${orgId}&limit=200`,
      );
      t.equal(items.filter(({ name, org_id }) => name === 'In our house' && org_id === orgId).length, 1);
      await remove('In our house');
      const common = items.find(({ org_id }) => org_id === null)!;
      await openRecord(common.name);
      await drawer
        .getByRole('textbox', { name: 'Name', exact: true })
        .or(drawer.getByText(common.name))
        .first()
        .waitFor();
      t.equal(await button('Delete').count(), 0, 'a model of the installation is nobody’s to delete');

      await open('provider-credentials');
      await openRecord('Our key');
      await remove('Our key');
    });

    await t.test('what was deleted elsewhere says so', async () => {
      const made = await rest.post<{ id: string }>(`${inProject}/analyses`, {
        name: 'Fleeting',
        type: 'text',
        prompt: 'How?',
      });
      await open('analyses');
      await openRecord('Fleeting');
      await rest.delete(`/v1/analyses/${made.id}`);
      await field('Prompt').fill('Who?');
      await button('Save').click();
      await drawer.getByRole('alert').waitFor();
      await page.goto(`${url}/projects/${project}/analyses?record=${made.id}`);
      await drawer.getByText('There is no such record').waitFor();
    });

    t.same(
      problems.filter((problem) => !/status of 4(04|09|22)/.test(problem)),
      [],
      'nothing went wrong in the pages',
    );
  },
);
