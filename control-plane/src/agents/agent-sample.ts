import {
  MANY_START,
  SAMPLE_ORIGIN,
  archivedAgent,
  newAgent,
  nthId,
  projectPath,
  unique,
} from '../composition/sample.ts';
import type { Sample, SampleWorld, Scenario } from '../composition/sample.ts';

/** Attach, switch and detach are the same for tools, analyses and knowledge bases. */
function linkScenarios(name: string, field: 'tool_id' | 'analysis_id' | 'knowledge_base_id', path: string) {
  const attached = async (world: SampleWorld, archive: boolean) => {
    const { project, make, cp } = world;
    const agent_id = await newAgent(world);
    await make(`/v1/agents/${agent_id}/${path}`, { [field]: project.ids[field] }, project.key);
    if (archive) await cp.call('DELETE', `/v1/agents/${agent_id}`, { token: project.key });
    return { ...project.ids, agent_id };
  };
  return {
    [`attach${name}`]: async (world, send) => {
      const body = { [field]: world.project.ids[field] };
      await send(200, { body });
      await send(409, { body, ids: { ...world.project.ids, agent_id: await archivedAgent(world) } });
    },
    [`update${name}`]: async (world, send) => {
      await send(200, { body: { enabled: true } });
      await send(409, { body: { enabled: false }, ids: await attached(world, true) });
    },
    [`detach${name}`]: async (world, send) => {
      await send(204, { ids: await attached(world, false) });
      await send(409, { ids: await attached(world, true) });
    },
  } satisfies Record<string, Scenario>;
}

export const agentSample: Sample = {
  async make({ make, project }) {
    const widget = { enabled: true, allowed_origins: [SAMPLE_ORIGIN] };
    const config = { analysis: { lead_analysis: false }, widget };
    const { id: agent_id } = await make(
      `${projectPath(project)}/agents`,
      { name: 'Agent', config },
      project.key,
    );
    return { agent_id, version: '1' };
  },
  unknown: { version: '77' },
  scenarios: {
    createAgent: async (_, send) => {
      const body = { name: unique() };
      await send(201, { body });
      await send(409, { body });
    },
    updateAgent: async (world, send) => {
      await send(200, { body: { greeting: 'Hello' } });
      await send(409, { body: { greeting: 'Hi' }, headers: { 'if-match': '"999"' } });
    },
    deleteAgent: async (world, send) => {
      await send(204, { ids: { agent_id: await newAgent(world) } });
      await send(409);
    },
    restoreAgent: async (world, send) => {
      await send(200, { ids: { agent_id: await archivedAgent(world) } });
      const name = unique();
      const agent_id = await newAgent(world, { name });
      await world.cp.call('DELETE', `/v1/agents/${agent_id}`, { token: world.project.key });
      await newAgent(world, { name });
      await send(409, { ids: { agent_id } });
    },
    duplicateAgent: async (_, send) => {
      const body = { name: unique() };
      await send(201, { body });
      await send(409, { body });
    },
    validateAgent: (_, send) => send(200, { body: {} }),
    labelAgentVersion: (_, send) => send(200, { body: { label: 'first' } }),
    restoreAgentVersion: async (world, send) => {
      await send(200);
      await send(409, { ids: { version: '1', agent_id: await archivedAgent(world) } });
    },
    setAgentTraffic: (_, send) => send(200, { body: { mode: 'latest', splits: [] } }),
    ...linkScenarios('AgentTool', 'tool_id', 'tools'),
    ...linkScenarios('AgentAnalysis', 'analysis_id', 'post-call-analyses'),
    ...linkScenarios('AgentKnowledgeBase', 'knowledge_base_id', 'knowledge-bases'),
  },
  many: ({ inProject }) => [
    {
      collection: 'agents',
      count: 999,
      record: (n) => ({
        ...inProject,
        _id: nthId('agt', n),
        name: `Agent ${n}`,
        unique_name: `Agent ${n}`,
        system_prompt: '',
        greeting: '',
        llm_id: n === 7 ? 'llm_rare' : 'llm',
        stt_id: 'stt',
        tts_id: 'tts',
        tts_voice_id: null,
        config: {},
        flow_definition: null,
        version: 1,
        revision: 1,
        webhooks: {},
        traffic: {},
        auto_database_id: null,
        archived_at: n % 2 === 0 ? new Date(MANY_START) : null,
      }),
    },
    {
      collection: 'agent_versions',
      count: 1500,
      record: (n) => ({
        ...inProject,
        _id: `${nthId('agt', 1)}.${n}`,
        agent_id: nthId('agt', 1),
        version: n,
        label: null,
        snapshot: {},
        restored_from: null,
        created_by: 'cli',
      }),
    },
  ],
  filters: () => ({
    llm_id: ['llm', 'llm_rare', 'none'],
    stt_id: ['stt'],
    tts_id: ['tts'],
    tts_voice_id: ['voc'],
  }),
};
