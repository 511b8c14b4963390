import { randomUUID } from 'node:crypto';
import {
  MANY_APART_MS,
  MANY_NUMBER,
  MANY_START,
  RARE_NUMBER,
  archivedAgent,
  nthId,
  nthSession,
  pennilessAgent,
  pennilessProject,
} from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

export const sessionSample: Sample = {
  make: async ({ call, project }) => ({ ...(await call(project, 'ended')) }),
  unknown: { session_id: '01890000-0000-7000-8000-000000000000' },
  scenarios: {
    createSession: async (world, send) => {
      await send(200, { body: {} });
      await send(409, { body: { agent_id: await archivedAgent(world) } });
      const { project_id } = await pennilessProject(world);
      await send(402, { body: { project_id }, token: world.owner.token });
    },
    endSession: async ({ call, project }, send) => {
      await send(202, { ids: { session_id: (await call(project, 'created')).session_id } });
      await send(409);
    },
    createSessionToken: async ({ call, project }, send) => {
      await send(200, { ids: { session_id: (await call(project, 'created')).session_id } });
      await send(409);
    },
    sendSessionEvent: async ({ call, project }, send) => {
      const body = { name: 'paid' };
      await send(202, { body, ids: { session_id: (await call(project, 'live')).session_id } });
      await send(409, { body });
    },
    transferSession: async ({ call, make, project }, send) => {
      const body = { phone_number: '+14155550123' };
      // A web call: nobody can be called for it.
      await send(409, { body, ids: { session_id: (await call(project, 'live')).session_id } });
      const { org_id, project_id, agent_id } = project.ids;
      const colleague = { id: 'colleague', target: { type: 'agent', agent_id } };
      const agent = await make(`/v1/orgs/${org_id}/projects/${project_id}/agents`, {
        name: randomUUID(),
        config: { transfer: { destinations: [colleague] } },
      });
      const { session_id } = await call(project, 'live', { agent_id: agent.id });
      await send(202, { body: { destination_id: 'colleague' }, ids: { session_id } });
    },
    deleteSession: async ({ call, project }, send) => {
      await send(204, { ids: { session_id: (await call(project, 'ended')).session_id } });
      await send(409, { ids: { session_id: (await call(project, 'created')).session_id } });
    },
    erasePerson: (_, send) => send(200, { body: { subject: 'somebody' } }),
    mintRealtimeSession: async (world, send) => {
      await send(200, { body: { agent_id: world.project.ids['agent_id'] } });
      await send(409, { body: { agent_id: await archivedAgent(world) } });
      const body = { agent_id: await pennilessAgent(world) };
      await send(402, { body, token: world.owner.token });
    },
    createRealtimeClientSecret: async (world, send) => {
      await send(200, { body: { session: { model: world.project.ids['agent_id'] } } });
      await send(409, { body: { session: { model: await archivedAgent(world) } } });
      const body = { session: { model: await pennilessAgent(world) } };
      await send(402, { body, token: world.owner.token });
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'sessions',
      count: 'unbounded',
      record: (n, rare) => ({
        ...inProject,
        _id: nthSession(n),
        agent_id: rare ? nthId('agt', 2) : nthId('agt', 1),
        agent_version: rare ? 2 : 1,
        channel: rare ? 'telephony' : 'web',
        direction: rare ? 'inbound' : 'web',
        provider: rare ? 'plivo' : null,
        transport: 'websocket',
        status: rare ? 'in_progress' : 'ended',
        llm_id: 'llm',
        stt_id: 'stt',
        tts_id: 'tts',
        campaign_id: rare ? nthId('cmp', 1) : null,
        test_run_id: rare && n % 2 === 0 ? nthId('trn', 1) : null,
        numbers: rare ? [RARE_NUMBER] : [MANY_NUMBER],
        user_identifier: rare ? 'rare' : `user ${n % 1000}`,
        language: rare ? 'de-DE' : 'en-US',
        goal_status: rare ? 'unclear' : 'achieved',
        failure_reason: rare ? 'no_answer' : null,
        hangup_reason: rare ? null : 'caller_hangup',
        outcome: rare ? 'voicemail' : 'sold',
        said: rare ? ['good', 'refund'] : ['good', 'morning'],
        words: rare ? ['rare'] : ['user', `${n % 1000}`],
        started_at: new Date(MANY_START + n * MANY_APART_MS + 5000),
        duration_seconds: (n * 31) % 1800,
        slot_scopes: [],
        variables: {},
        message_count: 0,
        attempt_number: 1,
      }),
    },
  ],
  filters: () => ({
    agent_id: [nthId('agt', 1), nthId('agt', 2), nthId('agt', 3)],
    agent_version: ['1', '2', '3'],
    campaign_id: [nthId('cmp', 1), nthId('cmp', 2)],
    test_run_id: [nthId('trn', 1), nthId('trn', 2)],
    phone_number: [MANY_NUMBER, RARE_NUMBER, '+14155550111'],
    user_identifier: ['user 7', 'rare', 'nobody'],
    language: ['en-US', 'de-DE', 'fr-FR'],
    goal_status: ['achieved', 'unclear', 'not_achieved'],
    failure_reason: ['no_answer', 'internal'],
    hangup_reason: ['caller_hangup', 'silence'],
    outcome: ['sold', 'voicemail', 'lost'],
    min_duration_seconds: ['0', '1795', '1800'],
    max_duration_seconds: ['1800', '5', '0'],
    q: ['user', 'rare', 'nobody'],
    transcript: ['good morning', 'Refund, good', 'goodbye'],
  }),
};
