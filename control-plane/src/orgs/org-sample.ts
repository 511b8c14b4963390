import { nthId, orgPath, unique } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

export const orgSample: Sample = {
  scenarios: {
    createOrg: (_, send) => send(201, { body: { name: unique() } }),
    updateOrg: (_, send) => send(200, { body: { name: 'First' } }),
    deleteOrg: async ({ make, call, project, cp, owner }, send) => {
      const org = await make<{ id: string; slug: string }>('/v1/orgs', { name: unique() });
      await send(202, { ids: { org_id: org.id }, query: `confirm=${org.slug}` });
      const { session_id } = await call(project, 'created');
      const mine = await cp.call<{ slug: string }>('GET', orgPath(project), { token: owner.token });
      await send(409, { query: `confirm=${mine.body.slug}` });
      await cp.call('POST', `/v1/sessions/${session_id}/end`, { token: project.key });
    },
  },
  many: () => [
    {
      collection: 'orgs',
      count: 1500,
      record: (n) => ({
        _id: nthId('org', n),
        name: `Org ${n}`,
        slug: `org-${n}`,
        status: 'active',
        feature_flags: {},
      }),
    },
  ],
};
