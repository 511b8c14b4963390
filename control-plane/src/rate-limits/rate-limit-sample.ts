import { nthId, orgPath } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

export const rateLimitSample: Sample = {
  async make({ make, project }) {
    const body = { resource: 'api_requests', limit: 1_000_000, window_seconds: 60 };
    const { id: config_id } = await make(`${orgPath(project)}/rate-limit-configs`, body, project.key);
    return { config_id };
  },
  scenarios: {
    createRateLimitConfig: async (world, send) => {
      const body = { resource: 'session_starts', limit: 60, window_seconds: 60 };
      await send(201, { body });
      await send(409, { body });
    },
    updateRateLimitConfig: (_, send) => send(200, { body: { limit: 999_999 } }),
    deleteRateLimitConfig: async ({ make, project }, send) => {
      const body = { resource: 'concurrent_sessions', limit: 1000 };
      const { id } = await make(`${orgPath(project)}/rate-limit-configs`, body, project.key);
      await send(204, { ids: { config_id: id } });
    },
  },
  many: ({ inOrg }) => [
    {
      collection: 'rate_limit_configs',
      count: 990,
      record: (n) => ({
        ...inOrg,
        project_id: nthId('prj', n),
        _id: nthId('rlc', n),
        resource: 'session_starts',
        limit: 60,
        window_seconds: 60,
        burst: null,
        enabled: false,
      }),
    },
  ],
};
