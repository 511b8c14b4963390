import { nameWords } from '../composition/name-words.ts';
import { MAX_WAITING } from '../imports/import-service.ts';
import { MANY_NUMBER, nthId, projectPath, RARE_NUMBER, unique } from '../composition/sample.ts';
import type { Sample, SampleWorld } from '../composition/sample.ts';

const KIND = 'recipients';

export const recipientListSample: Sample = {
  async make(world) {
    const list_id = await newList(world);
    return { list_id, recipient_id: await newRecipient(world, list_id, '+14155550101') };
  },
  scenarios: {
    createRecipientList: (_, send) => send(201, { body: { name: unique(), kind: KIND } }),
    updateRecipientList: async (world, send) => {
      await send(200, { body: { name: unique() } });
      await send(409, {
        ids: { list_id: await builtInList(world) },
        body: { name: unique() },
        token: world.owner.token,
      });
    },
    deleteRecipientList: async (world, send) => {
      await send(204, { ids: { list_id: await newList(world) } });
      await send(409, { ids: { list_id: await builtInList(world) }, token: world.owner.token });
    },
    importRecipients: async (world, send) => {
      const file = (content: string) => {
        const body = new FormData();
        body.set('file', new File([content], 'people.csv', { type: 'text/csv' }));
        return { body };
      };
      await send(200, file('phone,name\n+14155550104,Asha\n'));
      await send(202, { query: 'async=true', ...file('phone\n+14155550105\n') });
      await send(400, file('name\nAsha\n'));
      const own = { ids: { list_id: await builtInList(world) }, token: world.owner.token };
      await send(202, { ...own, query: 'async=true', ...file('phone\n+14155550106\n') });
      const { org_id } = world.project.ids;
      const far = new Date(Date.now() + 3_600_000);
      const waiting = { name: 'people.csv', size_bytes: 1, status: 'queued', run_at: far, expires_at: far };
      const _id = nthId('imp', far.getTime() * 1e4 + 1e3);
      await world.put('database_imports', { _id, org_id, project_id: null, ...waiting }, MAX_WAITING);
      await send(409, { ...own, query: 'async=true', ...file('phone\n+14155550107\n') });
    },
    addRecipients: (_, send) => send(201, { body: { recipients: [{ phone_number: '+14155550102' }] } }),
    updateRecipient: (_, send) => send(200, { body: { reason: 'Asked by letter.' } }),
    deleteRecipient: async (world, send) => {
      const recipient_id = await newRecipient(world, await newList(world), '+14155550103');
      await send(204, { ids: { recipient_id } });
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'recipient_lists',
      count: 999,
      record: (n) => ({ ...inProject, _id: nthId('rcl', n), name: `Thing ${n}`, kind: KIND }),
    },
    {
      collection: 'recipients',
      count: 3000,
      record: (n, rare) => ({
        ...inProject,
        _id: nthId('rcp', n),
        list_id: nthId('rcl', 1),
        kind: KIND,
        status: rare ? 'invalid' : 'valid',
        phone_number: n === 7 ? RARE_NUMBER : `+1415${String(n).padStart(7, '0')}`,
        external_id: rare ? 'rare' : 'many',
        name: n % 2 === 0 ? 'Guest 77' : 'Guest',
        words: nameWords(n % 2 === 0 ? 'Guest 77' : 'Guest'),
        source: 'api',
      }),
    },
  ],
  filters: () => ({ phone_number: [MANY_NUMBER, RARE_NUMBER], external_id: ['many', 'rare', 'none'] }),
};

async function newList({ make, project }: SampleWorld): Promise<string> {
  const body = { name: unique(), kind: KIND };
  return (await make(`${projectPath(project)}/recipient-lists`, body, project.key)).id;
}

/** The org's own list, as its owner sees it. */
async function builtInList({ cp, project }: SampleWorld): Promise<string> {
  const path = `${projectPath(project)}/recipient-lists?limit=200`;
  const { body } = await cp.call<{ items: { id: string; built_in: boolean }[] }>('GET', path, {
    token: project.key,
  });
  return body.items.find((list) => list.built_in)!.id;
}

async function newRecipient(
  { cp, make, project }: SampleWorld,
  listId: string,
  phone_number: string,
): Promise<string> {
  const path = `/v1/recipient-lists/${listId}/recipients`;
  await make(path, { recipients: [{ phone_number }] }, project.key);
  const { body } = await cp.call<{ items: { id: string }[] }>('GET', path, { token: project.key });
  return body.items[0]!.id;
}
