import { newId } from '@parley/shared/ids/new-id';
import { pennilessAgent, SAMPLE_ORIGIN } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

export const widgetSample: Sample = {
  scenarios: {
    startWidgetSession: async (world, send) => {
      await send(200, { body: {} });
      await send(403, { body: {}, headers: { origin: 'https://elsewhere.example.com' } });
      const widget = { enabled: true, allowed_origins: [SAMPLE_ORIGIN] };
      const agent_id = await pennilessAgent(world, { config: { widget } });
      await send(402, { body: {}, ids: { agent_id } });
      await send(404, { ids: { agent_id: newId('agt') } });
    },
  },
};
