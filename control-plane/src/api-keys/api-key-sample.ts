import { randomBytes } from 'node:crypto';
import { MANY_START, nthId } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

export const apiKeySample: Sample = {
  scenarios: {
    createApiKey: (_, send) => send(201, { body: { name: 'key', role: 'viewer' } }),
    revokeApiKey: async ({ make, project }, send) => {
      const path = `/v1/projects/${project.ids['project_id']}/api-keys`;
      const { id } = await make(path, { name: 'key', role: 'viewer' });
      await send(204, { ids: { ...project.ids, key_id: id } });
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'api_keys',
      count: 1500,
      record: (n) => ({
        ...inProject,
        _id: nthId('key', n),
        name: `Key ${n}`,
        role: 'viewer',
        digest: randomBytes(32).toString('hex'),
        key_start: 'sk-svc-xxxxx',
        last_four: 'xxxx',
        created_by: 'cli',
        expires_at: n % 100 === 0 ? new Date(MANY_START) : null,
        last_used_at: null,
        revoked_at: n % 50 === 0 ? null : new Date(MANY_START),
      }),
    },
  ],
};
