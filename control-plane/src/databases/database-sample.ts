import {
  MANY_APART_MS,
  MANY_SESSION,
  MANY_START,
  newAgent,
  nthId,
  nthSession,
  orgPath,
  projectPath,
  unique,
} from '../composition/sample.ts';
import type { Sample, SampleWorld } from '../composition/sample.ts';
import { MAX_WAITING } from '../imports/import-service.ts';
import { encodeCursor } from './row-cursor.ts';
import { withColumns } from './known-keys.ts';
import { rowContent } from './row-values.ts';
import type { Column } from './database-columns.ts';

const COLUMNS: Column[] = [
  { key: 'score', label: 'Score', type: 'number', options: [], source: { from: 'lead', path: 'lead_score' } },
  { key: 'note', label: 'Note', type: 'text', options: [], source: { from: 'manual' } },
];
const KNOWN_KEYS = withColumns(null, COLUMNS, 0);
const MANY_DATABASE = nthId('dbs', 1);

async function newDatabase({ make, project }: SampleWorld): Promise<string> {
  return (await make(`${projectPath(project)}/databases`, { name: unique(), columns: COLUMNS }, project.key))
    .id;
}

function csvFile(content: string): FormData {
  const form = new FormData();
  form.set('file', new File([content], 'rows.csv', { type: 'text/csv' }));
  return form;
}

/** An agent with a database of its own. */
async function autoDatabase({ make, project }: SampleWorld) {
  const agent = await make<{ id: string; auto_database_id: string }>(
    `${projectPath(project)}/agents`,
    { name: unique(), config: { auto_database: true } },
    project.key,
  );
  return { database_id: agent.auto_database_id, agent_id: agent.id };
}

export const databaseSample: Sample = {
  async make(world) {
    const { cp, make, project } = world;
    const database_id = await newDatabase(world);
    const path = `/v1/databases/${database_id}`;
    const { id: row_id } = await make(`${path}/rows`, { values: { score: 1 } }, project.key);
    await make(`${path}/agents`, { agent_id: project.ids['agent_id'] }, project.key);
    const begun = await cp.call<{ id: string }>('POST', `${path}/import`, {
      body: csvFile('score\nhigh\n'),
      token: project.key,
    });
    return { database_id, row_id, import_id: begun.body.id };
  },
  scenarios: {
    createDatabase: (_, send) => send(201, { body: { name: unique() } }),
    updateDatabase: (_, send) => send(200, { body: { name: unique() } }),
    deleteDatabase: async (world, send) => {
      await send(204, { ids: { database_id: await newDatabase(world) } });
      await send(409, { ids: { database_id: (await autoDatabase(world)).database_id } });
    },
    attachDatabaseAgent: (world, send) => send(200, { body: { agent_id: world.project.ids['agent_id'] } }),
    detachDatabaseAgent: async (world, send) => {
      const [database_id, agent_id] = [await newDatabase(world), await newAgent(world)];
      await world.make(`/v1/databases/${database_id}/agents`, { agent_id }, world.project.key);
      await send(204, { ids: { database_id, agent_id } });
      await send(409, { ids: await autoDatabase(world) });
    },
    importDatabaseRows: async ({ make, owner, project, put }, send) => {
      const body = csvFile('score,note\n3,first\n');
      await send(202, { body });
      await send(400, { body: csvFile('nothing\n3\n') });
      const { org_id } = project.ids;
      const { id: project_id } = await make(`${orgPath(project)}/projects`, { name: unique() });
      const other = `${orgPath(project)}/projects/${project_id}/databases`;
      const { id: database_id } = await make(other, { name: unique() });
      const far = new Date(Date.now() + 3_600_000);
      const waiting = { name: 'rows.csv', size_bytes: 1, status: 'queued', run_at: far, expires_at: far };
      const _id = nthId('imp', far.getTime() * 1e4);
      await put('database_imports', { _id, org_id, project_id, database_id, ...waiting }, MAX_WAITING);
      await send(409, { ids: { database_id }, token: owner.token, body });
    },
    createDatabaseRow: async (world, send) => {
      await send(201, { body: { values: { score: 7, note: 'called' } } });
    },
    updateDatabaseRow: (_, send) => send(200, { body: { values: { score: 8 } } }),
    deleteDatabaseRow: async ({ make, project }, send) => {
      const { database_id } = project.ids;
      const body = { values: { score: 2 } };
      const { id } = await make(`/v1/databases/${database_id}/rows`, body, project.key);
      await send(204, { ids: { ...project.ids, row_id: id } });
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'databases',
      count: 999,
      record: (n) => ({
        ...inProject,
        _id: nthId('dbs', n),
        name: `Thing ${n}`,
        kind: n === 7 ? 'auto' : 'custom',
        columns: COLUMNS,
        known_keys: KNOWN_KEYS,
        agent_ids: n === 1 ? [nthId('agt', 1), nthId('agt', 2)] : [],
      }),
    },
    {
      collection: 'database_rows',
      count: 'unbounded',
      record: (n, rare) => {
        const _id = nthId('dbr', n);
        return {
          ...inProject,
          _id,
          database_id: MANY_DATABASE,
          session_id: rare ? MANY_SESSION : nthSession(n),
          agent_id: nthId('agt', rare ? 2 : 1),
          source: 'session',
          ...rowContent({ known_keys: KNOWN_KEYS }, _id, { score: rare ? -1 : n % 100, note: `Note ${n}` }),
          subjects: [],
        };
      },
    },
  ],
  filters: () => ({
    filter: ['score:gte:50', 'score:eq:-1', 'score:lt:0', 'note:eq:Note 77', 'note:empty'],
    cursor: [
      encodeCursor({
        ...{ sort: '-created_at', total: 0, capped: false, segment: 0 },
        position: [MANY_START + 50 * MANY_APART_MS, nthId('dbr', 50)],
      }),
    ],
  }),
};
