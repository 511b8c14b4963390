import { nthId, orgPath, unique } from '../composition/sample.ts';
import type { Sample, SampleWorld } from '../composition/sample.ts';

/** A key that the emulated app of the samples takes. */
const GOOD = { api_key: 'cal_test_of_the_samples' };
const BAD = { api_key: 'cal_test_of_nobody' };

const body = (more: object = {}) => ({ app: 'cal_com', name: unique(), credentials: GOOD, ...more });

const made = async ({ make, project }: SampleWorld, more: object = {}) =>
  make<{ id: string; authorize_url: string | null }>(`${orgPath(project)}/app-connections`, body(more));

/** One that a person is to agree to. */
const pending = (world: SampleWorld) => made(world, { app: 'google_calendar', credentials: undefined });

export const appConnectionSample: Sample = {
  async make({ make, project }) {
    const { org_id, project_id } = project.ids;
    const { id } = await make(`/v1/orgs/${org_id}/app-connections`, body({ project_id }));
    return { connection_id: id };
  },
  scenarios: {
    async createAppConnection({ apps }, send) {
      await send(201, { body: body() });
      await send(422, { body: body({ credentials: BAD }) });
      apps.setFaults([{ kind: 'refuse', status: 500, count: 1 }]);
      await send(502, { body: body() });
    },
    updateAppConnection: (_, send) => send(200, { body: { name: unique() } }),
    async reconnectApp(world, send) {
      const { id } = await pending(world);
      await send(200, { ids: { connection_id: id }, body: {} });
      const agreed = await pending(world);
      const query = await world.apps.agree(agreed.authorize_url!);
      await world.cp.call('GET', `/auth/v1/apps/callback?${query}`, { token: null });
      await send(409, { ids: { connection_id: agreed.id }, body: {} });
      const ids = { connection_id: (await made(world)).id };
      await send(200, { ids, body: { credentials: GOOD } });
      world.apps.setFaults([{ kind: 'refuse', status: 500, count: 1 }]);
      await send(502, { ids, body: { credentials: GOOD } });
    },
    async completeAppAuthorization(world, send) {
      const { authorize_url } = await pending(world);
      const query = await world.apps.agree(authorize_url!);
      await send(200, { query });
      await send(400, { query });
    },
    async deleteAppConnection(world, send) {
      const { id: connection_id } = await made(world);
      const { make, project } = world;
      const { id: tool_id } = await make(`${orgPath(project)}/tools`, {
        name: unique(),
        description: 'Finds a time.',
        type: 'app',
        app: { connection_id, action: 'find_slots' },
      });
      await send(409, { ids: { connection_id } });
      const { status } = await world.cp.call('DELETE', `/v1/tools/${tool_id}`, { token: world.owner.token });
      if (status !== 204) throw new Error(`not deleted: ${status}`);
      await send(204, { ids: { connection_id } });
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'app_connections',
      count: 999,
      record: (n) => ({
        ...inProject,
        _id: nthId('apc', n),
        app: 'cal_com',
        name: `Thing ${n}`,
        auth_type: 'api_key',
        status: 'connected',
        account_label: null,
        scopes: [],
        expires_at: null,
        last_error: null,
        secrets: null,
        renewing_until: null,
        authorization: null,
      }),
    },
  ],
};
