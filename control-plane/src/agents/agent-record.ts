import type { AgentConfigInput } from '@parley/shared/contracts/agent-config';
import type { StoredRecord } from '../storage/collection.ts';

/** A tool, analysis or knowledge base attached to an agent. */
export interface AgentLink {
  id: string;
  enabled: boolean;
}

export interface TrafficSplit {
  version: number;
  weight: number;
}

/** What a version fixes. */
export interface AgentContent {
  name: string;
  system_prompt: string;
  greeting: string;
  llm_id: string;
  stt_id: string;
  tts_id: string;
  tts_voice_id: string | null;
  /** As sent, without `webhooks`; header values are references to `agent_secrets`. */
  config: Omit<AgentConfigInput, 'webhooks'>;
  flow_definition: Record<string, unknown> | null;
  tools: AgentLink[];
  analyses: AgentLink[];
  knowledge_bases: AgentLink[];
}

export interface AgentRecord extends StoredRecord, AgentContent {
  org_id: string;
  project_id: string;
  /** The name while it lives; something else once archived: unique in the project. */
  unique_name: string;
  /** Rises with every write of this record; `version` only with those of content. */
  revision: number;
  version: number;
  version_created_by: string;
  version_created_at: Date;
  version_restored_from: number | null;
  /** `config.webhooks` as sent: acts at once, belongs to no version. */
  webhooks: NonNullable<AgentConfigInput['webhooks']>;
  /** Encrypted; by webhook. Written by the webhooks feature. */
  webhook_secrets: Record<string, unknown>;
  traffic: { mode: 'latest' | 'pinned'; splits: TrafficSplit[]; require_passed_tests: boolean };
  auto_database_id: string | null;
  archived_at: Date | null;
}

/** One immutable version. `_id` is `<agent id>.<version>`. */
export interface AgentVersionRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  agent_id: string;
  version: number;
  label: string | null;
  snapshot: AgentContent;
  restored_from: number | null;
  created_by: string;
}
