import { randomUUID } from 'node:crypto';
import { signWebhook } from '@parley/shared/http/webhook-signature';
import { archivedAgent, newAgent, pennilessAgent } from '../composition/sample.ts';
import type { Sample, SampleRequest, SampleWorld } from '../composition/sample.ts';

const TO = '+14155550123';

/** A signed request to the webhook of an agent, with a secret that was made for it. */
async function signedFor(
  { make }: SampleWorld,
  agent_id: string,
  call: object = { phoneNumber: TO, order: randomUUID() },
): Promise<SampleRequest> {
  const { secret } = await make<{ secret: string }>(`/api/v1/webhooks/agents/${agent_id}/rotate-secret`, {});
  const text = JSON.stringify(call);
  return {
    ids: { agent_id },
    token: null,
    body: Buffer.from(text),
    headers: { 'x-webhook-signature': signWebhook(secret, text, Date.now()) },
  };
}

export const startCallSample: Sample = {
  scenarios: {
    startCall: async (world, send) => {
      const call = (agent_id: string | undefined) => ({ body: { agent_id, to_number: TO } });
      await send(202, call(world.project.ids['agent_id']));
      await send(402, { ...call(await pennilessAgent(world)), token: world.owner.token });
      await send(404, call('agt_01k5z8r5m2q7v3x9b4n6c8d0ef'));
      await send(409, call(await archivedAgent(world)));
    },
    startCallByWebhook: async (world, send) => {
      const agentId = await newAgent(world);
      await send(202, await signedFor(world, agentId));
      await send(401, { token: null, body: '{}' });
      await send(402, await signedFor(world, await pennilessAgent(world)));
      const archived = await newAgent(world);
      const early = await signedFor(world, archived);
      await world.cp.call('DELETE', `/v1/agents/${archived}`, { token: world.project.key });
      await send(409, early);
      await send(422, await signedFor(world, agentId, {}));
      await world.cp.call('PUT', `/api/v1/webhooks/agents/${agentId}/start-call`, {
        token: world.project.key,
        body: { enabled: false },
      });
      await send(403, await signedFor(world, agentId));
    },
  },
};
