import { newId } from '@parley/shared/ids/new-id';
import { MANY_SESSION, MANY_START, newAgent, nthId, nthSession } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

export const webhookSample: Sample = {
  async make({ cp, call, project, tenantUrl }) {
    const { agent_id } = project.ids;
    const token = project.key;
    const body = { enabled: true, url: `${tenantUrl}/crm`, web_calls: true, phone_calls: true };
    const settings = await cp.call('PUT', `/api/v1/webhooks/agents/${agent_id}/call-ended`, { token, body });
    if (settings.status !== 200) throw new Error(JSON.stringify(settings.body));
    const { session_id } = await call(project, 'ended');
    for (;;) {
      const path = `/v1/agents/${agent_id}/webhook-deliveries?session_id=${session_id}`;
      const page = await cp.call<{ items: { id: string; status: string }[] }>('GET', path, { token });
      const done = page.body.items.find(({ status }) => status === 'succeeded');
      if (done) return { delivery_id: done.id };
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  },
  scenarios: {
    rotateWebhookSecret: (_, send) => send(200, { body: { webhook: 'call_ended' } }),
    setStartCallWebhook: (_, send) => send(200, { body: { enabled: false } }),
    setCallEndedWebhook: ({ tenantUrl }, send) =>
      send(200, { body: { enabled: true, url: `${tenantUrl}/crm`, web_calls: true, phone_calls: true } }),
    testCallEndedWebhook: async (world, send) => {
      await send(200);
      await send(409, { ids: { agent_id: await newAgent(world) } });
    },
    redeliverWebhook: async (world, send) => {
      const delivery_id = newId('whd');
      const { ids } = world.project;
      await world.put('webhook_deliveries', {
        _id: delivery_id,
        org_id: ids['org_id'],
        project_id: ids['project_id'],
        agent_id: ids['agent_id'],
        session_id: ids['session_id'],
        event: 'call.ended',
        url: 'https://example.com/',
        status: 'succeeded',
        // Erased.
        payload: null,
        lease_until: new Date(0),
      });
      await send(409, { ids: { delivery_id } });
      await send(202);
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'webhook_deliveries',
      count: 1500,
      record: (n, rare) => ({
        ...inProject,
        _id: nthId('whd', n),
        agent_id: nthId('agt', 1),
        session_id: rare ? MANY_SESSION : nthSession(n),
        event: 'call.ended',
        url: 'https://example.com/',
        status: rare ? 'failed' : 'succeeded',
        attempts: 1,
        payload: '{}',
        next_attempt_at: null,
        delivered_at: new Date(MANY_START),
        last_status: 200,
        last_error: null,
      }),
    },
  ],
  filters: () => ({ session_id: [MANY_SESSION, nthSession(999_999)] }),
};
