import { newId } from '@parley/shared/ids/new-id';
import type { Sample } from '../composition/sample.ts';

export const widgetSample: Sample = {
  scenarios: {
    startWidgetSession: async (_, send) => {
      await send(200, { body: {} });
      await send(403, { body: {}, headers: { origin: 'https://elsewhere.example.com' } });
      await send(404, { ids: { agent_id: newId('agt') } });
    },
  },
};
