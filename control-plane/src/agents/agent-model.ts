import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { AgentContent, AgentRecord, AgentVersionRecord } from './agent-record.ts';

export const CONTENT_FIELDS = [
  'name',
  'system_prompt',
  'greeting',
  'llm_id',
  'stt_id',
  'tts_id',
  'tts_voice_id',
  'config',
  'flow_definition',
  'tools',
  'analyses',
  'knowledge_bases',
] as const satisfies readonly (keyof AgentContent)[];

const link = { _id: false, id: { type: String, required: true }, enabled: { type: Boolean, required: true } };

export const agentCollection = defineCollection<AgentRecord, 'project'>({
  name: 'agents',
  tenancy: 'project',
  fields: {
    name: { type: String, required: true },
    unique_name: { type: String, required: true },
    system_prompt: { type: String, default: '' },
    greeting: { type: String, default: '' },
    llm_id: { type: String, required: true },
    stt_id: { type: String, required: true },
    tts_id: { type: String, required: true },
    tts_voice_id: { type: String, default: null },
    config: { type: Object, default: {} },
    flow_definition: { type: Object, default: null },
    tools: { type: [link], default: [] },
    analyses: { type: [link], default: [] },
    knowledge_bases: { type: [link], default: [] },
    revision: { type: Number, required: true, default: 1 },
    version: { type: Number, required: true },
    version_created_by: { type: String, required: true },
    version_created_at: { type: Date, required: true },
    version_restored_from: { type: Number, default: null },
    webhooks: { type: Object, default: {} },
    webhook_secrets: { type: Object, default: {} },
    traffic: { type: Object, default: { mode: 'latest', splits: [], require_passed_tests: false } },
    auto_database_id: { type: String, default: null },
    archived_at: { type: Date, default: null },
  },
  indexes: [
    [{ org_id: 1, project_id: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, unique_name: 1 }, { unique: true }],
    [{ org_id: 1, 'tools.id': 1 }],
  ],
});

export const agentVersionCollection = defineCollection<AgentVersionRecord, 'project'>({
  name: 'agent_versions',
  tenancy: 'project',
  fields: {
    agent_id: { type: String, required: true },
    version: { type: Number, required: true },
    label: { type: String, default: null },
    snapshot: { type: Object, required: true },
    restored_from: { type: Number, default: null },
    created_by: { type: String, required: true },
  },
  indexes: [
    [{ org_id: 1, project_id: 1, agent_id: 1, version: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, agent_id: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, agent_id: 1, updated_at: -1, _id: -1 }],
  ],
});

/** A header value of an agent's own request, encrypted. Never changed, so that versions can refer to it. */
export interface AgentSecretRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  agent_id: string;
  value: string;
}

export const agentSecretCollection = defineCollection<AgentSecretRecord, 'project'>({
  name: 'agent_secrets',
  tenancy: 'project',
  fields: { agent_id: { type: String, required: true }, value: { type: String, required: true } },
  indexes: [[{ org_id: 1, project_id: 1, agent_id: 1 }]],
});
