import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { newId } from '@parley/shared/ids/new-id';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { databaseRowCollection } from '../src/databases/database-model.ts';
import { MAX_CSV_ROWS } from '../src/csv-imports/csv-upload.ts';
import { ImportJobs } from '../src/imports/import-jobs.ts';
import { importCollection, importErrorCollection } from '../src/imports/import-model.ts';
import { MAX_WAITING } from '../src/imports/import-service.ts';
import { RowImports } from '../src/databases/row-imports.ts';
import { RowStore } from '../src/databases/row-store.ts';
import { eventually } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

interface Import {
  id: string;
  status: string;
  error: string | null;
  rows: number;
  imported: number;
  updated: number;
  skipped: number;
  error_count: number;
  errors_url: string | null;
  finished_at: string | null;
}
interface Refused {
  code: string;
  detail: string;
}

const plane = await openTestControlPlane();
t.teardown(() => plane[Symbol.asyncDispose]());
const { database, clock, logger, config } = plane.app.services;
const { org, project, apiKey } = plane.first;
const P = `/v1/orgs/${org._id}/projects/${project._id}`;
const COLUMNS = [
  { key: 'score', label: 'The score', type: 'number' },
  { key: 'note', type: 'text' },
  { key: 'tel', label: 'Telephone', type: 'phone' },
  { key: 'stage', type: 'enum', options: ['won', 'lost'] },
];

async function makeDatabase(): Promise<string> {
  const body = { name: 'x', columns: COLUMNS };
  return (await plane.call<{ id: string }>('POST', `${P}/databases`, { body })).body.id;
}
function send<T = Import>(path: string, content: string, fields: Record<string, string> = {}) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  body.set('file', new File([content], 'people.csv', { type: 'text/csv' }));
  return plane.call<T>('POST', path, { body });
}
function upload<T = Import>(id: string, content: string, name = 'rows.csv', type = 'text/csv') {
  const body = new FormData();
  body.set('file', new File([content], name, { type }));
  return plane.call<T>('POST', `/v1/databases/${id}/import`, { body });
}
const importOf = async (id: string) => (await plane.call<Import>('GET', `/v1/imports/${id}`)).body;
async function settled(id: string): Promise<Import> {
  await eventually(async () => (await importOf(id)).finished_at !== null);
  return importOf(id);
}
async function imported(id: string, content: string): Promise<Import> {
  const begun = await upload(id, content);
  t.match(begun, { status: 202, body: { status: 'queued', rows: 0, errors_url: null } });
  return settled(begun.body.id);
}
const text = async (path: string) => {
  const answer = await fetch(`${plane.url}${path}`, { headers: { authorization: `Bearer ${apiKey}` } });
  return Buffer.from(await answer.arrayBuffer()).toString('utf8');
};
const rowCount = async (id: string) =>
  (await plane.call<{ row_count: number }>('GET', `/v1/databases/${id}`)).body.row_count;
const valuesOf = async (id: string) =>
  (
    await plane.call<{ items: { values: object }[] }>('GET', `/v1/databases/${id}/rows?sort=created_at`)
  ).body.items.map(({ values }) => values);

void t.test('rows are imported, and every bad one is told of', async (t) => {
  const id = await makeDatabase();
  const found = await imported(
    id,
    '\u{feff}The score;note;Telephone;stage\r\n1,5;a;;won\r\n7;"two\r\nlines";+14155550100;lost\r\n' +
      'many;b;0175;never\r\n;;;\r\n3;short\r\n-2;=1+1;+4930123456;\r\n',
  );
  t.match(found, { status: 'done', error: null, rows: 6, imported: 3, error_count: 3 });
  t.equal(
    await text(new URL(found.errors_url!).pathname),
    '\u{feff}row,column,problem\r\n' +
      '1,score,must be a number\r\n' +
      '3,score,must be a number\r\n' +
      '3,tel,must be a phone number in E.164 form\r\n' +
      '3,stage,must be one of the options of the column\r\n' +
      '5,,"has 2 cells, and the header has 4"\r\n',
  );
  t.same(await valuesOf(id), [
    { score: 7, note: 'two\r\nlines', tel: '+14155550100', stage: 'lost' },
    { score: null, note: null, tel: null, stage: null },
    { score: -2, note: '=1+1', tel: '+4930123456', stage: null },
  ]);
  t.equal(await rowCount(id), 3);
  t.same(await readdir(join(config.STORAGE_DIR, 'imports')), [], 'the file is gone');

  const exported = await text(`/v1/databases/${id}/export`);
  t.match(exported, "-2,'=1+1,+4930123456,\r\n", 'a spreadsheet runs none of it');
  const again = await makeDatabase();
  t.match(await imported(again, exported), { status: 'done', imported: 3, error_count: 0 });
});

void t.test('what is no file of this database is refused at once', async (t) => {
  const id = await makeDatabase();
  const refused: [string, string, string, number, RegExp][] = [
    ['', 'a.csv', 'text/csv', 400, /empty/],
    ['score,other\n1,2\n', 'a.csv', 'text/csv', 400, /does not have: "other"/],
    ['score,The score\n1,2\n', 'a.csv', 'text/csv', 400, /twice: "score"/],
    ['"score\n1\n', 'a.csv', 'text/csv', 400, /header has a quote that is not closed/],
    ['score\n1\n', 'a.xlsx', 'application/octet-stream', 415, /CSV/],
    ['score\n1\n', 'a.csv', 'application/pdf', 415, /CSV/],
  ];
  for (const [content, name, type, status, detail] of refused)
    t.match(await upload<Refused>(id, content, name, type), { status, body: { detail } }, String(detail));
  t.match(await upload(id, 'score\n1\n', 'a.txt', 'text/plain'), { status: 202 });
  t.same(
    (await readdir(join(config.STORAGE_DIR, 'imports'))).filter((name) => name.endsWith('.part')),
    [],
  );
});

void t.test('a quote that is not closed ends an import, and what came before stays', async (t) => {
  const id = await makeDatabase();
  t.match(await imported(id, 'score,note\n1,a\nx,b\n3,"c\n4,d\n'), {
    ...{ status: 'failed', error: 'Row 3 has a quote that is not closed.' },
    ...{ rows: 2, imported: 1, error_count: 1 },
  });
  t.equal(await rowCount(id), 1);
});

void t.test('an import goes on where a process died, and repeats no row', async (t) => {
  const id = await makeDatabase();
  const rows = new RowStore({ database, clock });
  const stop = new AbortController();
  let batches = 0;
  // Dies when the second batch of rows is stored, and nobody was told so.
  const dying: Pick<RowStore, 'insert'> = {
    async insert(...args) {
      const stored = await rows.insert(...args);
      if (++batches === 2) {
        stop.abort();
        throw new Error('died');
      }
      return stored;
    },
  };
  const deps = { database, clock, logger, storageDir: config.STORAGE_DIR };
  const begin = () => Promise.reject(new Error('not asked'));
  const kind = (store: Pick<RowStore, 'insert'>) =>
    new RowImports({ database, rows: store, imports: { begin } });
  const content = `score\n${Array.from({ length: 500 }, (_, n) => (n % 10 === 3 ? 'x' : n)).join('\n')}\n`;
  const begun = await upload(id, 'score\n');
  const first = await settled(begun.body.id);
  t.match(first, { status: 'done', rows: 0 });
  await writeFile(join(config.STORAGE_DIR, 'imports', `${first.id}.csv`), content);
  const imports = database.model(importCollection);
  // The plane's own worker finds nothing due by its clock.
  const far = new Date(clock.now() + 3_600_000);
  const later = { ...deps, clock: new ManualClock(far.getTime()) };
  const again = { status: 'queued', run_at: far, lease_until: new Date(0), finished_at: null };
  await imports.updateOne({ _id: first.id }, { $set: again });
  await new ImportJobs({ ...later, kinds: [kind(dying)] }).work(stop.signal);
  t.match(await importOf(first.id), { status: 'queued', rows: 200, imported: 180, error_count: 20 });
  t.equal(await rowCount(id), 360, 'two batches are there');
  await imports.updateOne({ _id: first.id }, { $set: again });
  await new ImportJobs({ ...later, kinds: [kind(rows)] }).work(new AbortController().signal);
  t.match(await importOf(first.id), {
    ...{ status: 'done', rows: 500, imported: 450, error_count: 50 },
  });
  t.equal(await rowCount(id), 450);
  t.equal(await database.model(databaseRowCollection).countDocuments({ database_id: id }), 450);
  t.equal(await database.model(importErrorCollection).countDocuments({ import_id: first.id }), 50);
});

void t.test('a project has no more imports at a time than it may', async (t) => {
  const { org_id, project_id } = { org_id: org._id, project_id: project._id };
  const far = new Date(clock.now() + 3_600_000);
  const waiting = Array.from({ length: MAX_WAITING }, () => ({
    ...{ _id: newId('imp', clock.now()), org_id, project_id, database_id: 'dbs_x', name: 'x' },
    ...{ size_bytes: 1, status: 'queued', run_at: far, expires_at: far },
  }));
  const imports = database.model(importCollection);
  await imports.insertMany(waiting);
  t.match(await upload<Refused>(await makeDatabase(), 'score\n1\n'), {
    status: 409,
    body: { code: 'limit_reached' },
  });
  await imports.deleteMany({ run_at: far });
});

const agent = (await plane.call<{ id: string }>('POST', `${P}/agents`, { body: { name: 'Caller' } })).body;
/** Where people are imported: a campaign, and a list. */
async function peopleTargets(): Promise<{ field: string; id: string; path: string }[]> {
  const made = async (path: string, body: object) =>
    (await plane.call<{ id: string }>('POST', `${P}/${path}`, { body })).body.id;
  const campaign = await made('campaigns', { name: 'x', agent_id: agent.id });
  const list = await made('recipient-lists', { name: 'x', kind: 'recipients' });
  return [
    { field: 'campaign_id', id: campaign, path: `/v1/campaigns/${campaign}/contacts` },
    { field: 'recipient_list_id', id: list, path: `/v1/recipient-lists/${list}/recipients` },
  ];
}
const importPath = ({ path }: { path: string }) =>
  path.endsWith('recipients') ? path.replace(/recipients$/, 'import') : `${path}/import`;
const totalOf = async (path: string) =>
  (await plane.call<{ total: number }>('GET', `${path}?limit=1`)).body.total;
/** Every tenth lacks its number. */
const people = (count: number) =>
  `phone,name,plan\n${Array.from({ length: count }, (_, n) => `${n % 10 === 3 ? '' : `+1415${2_000_000 + n}`},P${n},gold`).join('\n')}\n`;

void t.test('people are imported behind the answer, each once though a process dies', async (t) => {
  for (const target of await peopleTargets()) {
    const path = `${importPath(target)}?async=true`;
    const begun = await send(path, people(450));
    t.match(begun, { status: 202, body: { status: 'queued', rows: 0, [target.field]: target.id } });
    const counts = { rows: 450, imported: 405, updated: 0, skipped: 0, error_count: 45 };
    const first = await settled(begun.body.id);
    t.match(first, { status: 'done', error: null, ...counts });
    t.equal(await totalOf(target.path), 405);
    const errors = (await text(new URL(first.errors_url!).pathname)).split('\r\n');
    t.same([errors.length, errors[1]], [47, '4,phone,has no number'], 'every bad row');

    // Its process died when the second batch was stored, and nobody was told so.
    await writeFile(join(config.STORAGE_DIR, 'imports', `${first.id}.csv`), people(450));
    const died = { rows: 200, imported: 180, error_count: 20, finished_at: null };
    const due = { status: 'queued', run_at: new Date(clock.now()), lease_until: new Date(0) };
    await database.model(importCollection).updateOne({ _id: first.id }, { $set: { ...died, ...due } });
    t.match(await settled(first.id), { status: 'done', ...counts });
    t.equal(await totalOf(target.path), 405);

    const again = await settled((await send(path, people(20))).body.id);
    t.match(again, { imported: 0, updated: 18, skipped: 0, error_count: 2 });
    const left = await send(path, people(20), { on_duplicate: 'skip' });
    t.match(await settled(left.body.id), { imported: 0, updated: 0, skipped: 18, error_count: 2 });
    t.match(await send<Refused>(path, 'name\nAsha\n'), { status: 400, body: { code: 'bad_file' } });
  }
});

/** How often the store is asked for people of files while `work` runs, by collection and what it is asked. */
async function operations(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const { db } = database.model(importCollection);
  db.set('debug', (collection: string, operation: string) => {
    const name = `${collection}.${operation}`;
    if (OPERATIONS_OF_BATCHES.includes(name)) counts[name] = (counts[name] ?? 0) + 1;
  });
  try {
    await work();
  } finally {
    db.set('debug', false);
  }
  return counts;
}
const OPERATIONS_OF_BATCHES = [
  ...['find', 'insertMany', 'insertOne', 'bulkWrite', 'updateOne'].flatMap((operation) => [
    `campaign_contacts.${operation}`,
    `recipients.${operation}`,
    `database_import_errors.${operation}`,
  ]),
  ...['recipients.countDocuments', 'campaigns.findOneAndUpdate', 'campaigns.updateOne'],
];

void t.test('the store is asked by the batch, not by the person', async (t) => {
  const batches = 2;
  const file = people(600);
  const [campaign, list] = await peopleTargets();
  const importInto = (target: { path: string }) => async () => {
    const { id } = (await send(`${importPath(target)}?async=true`, file)).body;
    t.match(await settled(id), { status: 'done', imported: 540, error_count: 60 });
  };
  t.same(await operations(importInto(campaign!)), {
    // Whom the campaign has; and, of the first batch, who was stored by a process that died.
    'campaign_contacts.find': batches + 1,
    'recipients.find': batches,
    'campaign_contacts.insertMany': batches,
    // Counted, and marked as such.
    'campaigns.findOneAndUpdate': batches,
    'campaign_contacts.bulkWrite': batches,
    'campaigns.updateOne': batches,
    'database_import_errors.insertMany': batches,
  });
  t.same(await operations(importInto(list!)), {
    'recipients.countDocuments': batches,
    'recipients.find': batches,
    'recipients.insertMany': batches,
    'database_import_errors.insertMany': batches,
  });
});

void t.test('the target of an import may go, and a list is imported at once', async (t) => {
  const [campaign] = await peopleTargets();
  const query = `${importPath(campaign!)}?async=true`;
  const body = { recipient_list_id: 'rcl_01k5z8r5m2q7v3x9b4n6c8d0ef' };
  t.match(await plane.call('POST', query, { body }), { status: 422 });
  const { id } = (await send(query, 'phone\n')).body;
  await settled(id);
  await writeFile(join(config.STORAGE_DIR, 'imports', `${id}.csv`), people(5));
  t.equal((await plane.call('DELETE', `/v1/campaigns/${campaign!.id}`)).status, 204);
  const due = {
    status: 'queued',
    run_at: new Date(clock.now()),
    lease_until: new Date(0),
    finished_at: null,
  };
  await database.model(importCollection).updateOne({ _id: id }, { $set: due });
  t.match(await settled(id), { status: 'failed', error: 'The campaign was deleted.', imported: 0 });
  const [other] = await peopleTargets();
  const lines = `phone\n${'+14155550100\n'.repeat(5001)}`;
  t.match(await send<Refused>(importPath(other!), lines), { status: 413, body: { detail: /async=true/ } });
});

void t.test('as many people as a file may have', { skip: !LONG }, async (t) => {
  for (const target of await peopleTargets()) {
    const begun = performance.now();
    const made = await send(`${importPath(target)}?async=true`, people(MAX_CSV_ROWS));
    const accepted = performance.now() - begun;
    const isOver = async () => (await importOf(made.body.id)).finished_at !== null;
    // `eventually` has half a minute.
    for (let n = 0; n < 20 && !(await eventually(isOver).catch(() => false)); n++);
    const took = `${MAX_CSV_ROWS} rows in ${Math.round(performance.now() - begun)} ms`;
    t.comment(`${target.field}: ${took}, accepted after ${Math.round(accepted)} ms`);
    const found = await importOf(made.body.id);
    t.match(found, { status: 'done', rows: 50_000, imported: 45_000, error_count: 5000 });
    t.equal((await text(new URL(found.errors_url!).pathname)).split('\r\n').length, 5002);
    t.equal(await totalOf(target.path), 45_000);
  }
});

void t.test('as many rows as a file may have', { skip: !LONG }, async (t) => {
  const id = await makeDatabase();
  const line = (n: number) => (n % 1000 === 500 ? `x,"${n}"` : `${n},"note ${n}"`);
  const lines = Array.from({ length: MAX_CSV_ROWS }, (_, n) => line(n));
  const begun = performance.now();
  const made = await upload(id, `score,note\n${lines.join('\n')}\n`);
  await eventually(async () => (await importOf(made.body.id)).finished_at !== null);
  t.comment(`${MAX_CSV_ROWS} rows in ${Math.round(performance.now() - begun)} ms`);
  const found = await importOf(made.body.id);
  t.match(found, { status: 'done', rows: MAX_CSV_ROWS, imported: MAX_CSV_ROWS - 50, error_count: 50 });
  t.equal((await text(new URL(found.errors_url!).pathname)).split('\r\n').length, 52);
  const more = await upload(await makeDatabase(), `score\n${'1\n'.repeat(MAX_CSV_ROWS + 1)}`);
  await eventually(async () => (await importOf(more.body.id)).finished_at !== null);
  t.match(await importOf(more.body.id), {
    status: 'failed',
    error: /Only the first/,
    imported: MAX_CSV_ROWS,
  });
});
