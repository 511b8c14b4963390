import { randomUUID } from 'node:crypto';
import type { ErrorRef } from '@parley/shared/errors/app-error';
import type { AgentChoice, SessionAgent, SessionAgents } from '../sessions/session-agent.ts';
import type { Database } from '../storage/database.ts';
import { fillConfig } from './agent-config-input.ts';
import { toContent, versionId } from './agent-content.ts';
import { agentCollection, agentVersionCollection } from './agent-model.ts';
import type { AgentContent, AgentRecord, AgentVersionRecord } from './agent-record.ts';
import type { HeaderSecrets } from './header-secrets.ts';
import { versionFor, versionsInUse } from './traffic.ts';

/** Agents as sessions and other features read them, whatever their tenant. */
export class StoredAgents implements SessionAgents {
  readonly #database: Database;
  readonly #secrets: HeaderSecrets;

  constructor(deps: { database: Database; secrets: HeaderSecrets }) {
    this.#database = deps.database;
    this.#secrets = deps.secrets;
  }

  /** @inheritdoc */
  async forNewSession(agentId: string, caller: string | null): Promise<SessionAgent | null> {
    const agent = await this.#find(agentId);
    return agent && this.#inVersion(agent, versionFor(agent, caller ?? randomUUID()));
  }

  /** @inheritdoc */
  async choice(agentId: string): Promise<AgentChoice | null> {
    const agent = await this.#find(agentId);
    if (!agent) return null;
    const found = await Promise.all(versionsInUse(agent).map((version) => this.#inVersion(agent, version)));
    const versions = found.filter((version) => version !== null);
    if (versions.length < found.length) return null;
    return {
      versions,
      of: (caller) => {
        const chosen = versionFor(agent, caller);
        return versions.find(({ version }) => version === chosen)!;
      },
    };
  }

  /** @inheritdoc */
  async version(agentId: string, version: number): Promise<SessionAgent | null> {
    const agent = await this.#find(agentId);
    return agent && this.#inVersion(agent, version);
  }

  /** The newest version; null when the agent is gone. */
  async latestVersion(agentId: string): Promise<number | null> {
    return (await this.#find(agentId))?.version ?? null;
  }

  /** Links of a version, as it was. Null when the agent or version is gone. */
  async contentOf(agentId: string, version: number): Promise<AgentContent | null> {
    const agent = await this.#find(agentId);
    if (!agent) return null;
    if (version === agent.version) return toContent(agent);
    return (await this.#versionRecord(agent, version))?.snapshot ?? null;
  }

  /**
   * Live agents of the org of which the newest version, or one that gets callers, names one of these models or voices anywhere, at most 20:
   * such ids stand in configs and flows too, where no index reaches.
   */
  async naming(orgId: string, ids: readonly string[]): Promise<ErrorRef[]> {
    const wanted = ids.map((id) => JSON.stringify(id));
    const names = (content: object) => {
      const text = JSON.stringify(content);
      return wanted.some((id) => text.includes(id));
    };
    const refs: ErrorRef[] = [];
    const live = this.#database
      .model(agentCollection)
      .find({ org_id: orgId, archived_at: null })
      .lean<AgentRecord[]>()
      .cursor();
    for await (const agent of live as AsyncIterable<AgentRecord>) {
      const contents: AgentContent[] = [agent];
      for (const version of versionsInUse(agent)) {
        const old = version === agent.version ? null : await this.#versionRecord(agent, version);
        if (old) contents.push(old.snapshot);
      }
      if (contents.some((content) => names(spokenWith(content)))) {
        refs.push({ type: 'agent', id: agent._id, name: agent.name });
      }
      if (refs.length >= 20) break;
    }
    return refs;
  }

  /** Other live agents of the org that hand calls over to this one, at most 20. */
  async handingOverTo(orgId: string, agentId: string): Promise<ErrorRef[]> {
    return (await this.naming(orgId, [agentId])).filter(({ id }) => id !== agentId);
  }

  #find(agentId: string): Promise<AgentRecord | null> {
    return this.#database.read(agentCollection, agentId);
  }

  #versionRecord(agent: AgentRecord, version: number): Promise<AgentVersionRecord | null> {
    return this.#database.read(agentVersionCollection, versionId(agent._id, version));
  }

  async #inVersion(agent: AgentRecord, version: number): Promise<SessionAgent | null> {
    if (version === agent.version) return this.#toSessionAgent(agent, version, agent);
    const record = await this.#versionRecord(agent, version);
    return record && this.#toSessionAgent(agent, version, record.snapshot);
  }

  async #toSessionAgent(agent: AgentRecord, version: number, content: AgentContent): Promise<SessionAgent> {
    const config = fillConfig({ config: content.config, webhooks: agent.webhooks });
    const headers = await this.#secrets.reveal(config.pre_call.headers);
    return {
      agent_id: agent._id,
      version,
      org_id: agent.org_id,
      project_id: agent.project_id,
      name: content.name,
      system_prompt: content.system_prompt,
      greeting: content.greeting,
      llm_id: content.llm_id,
      stt_id: content.stt_id,
      tts_id: content.tts_id,
      tts_voice_id: content.tts_voice_id,
      config: { ...config, pre_call: { ...config.pre_call, headers } },
      flow_definition: content.flow_definition,
      knowledge_base_ids: content.knowledge_bases.filter(({ enabled }) => enabled).map(({ id }) => id),
      archived: agent.archived_at !== null,
    };
  }
}

/** The part of a version that may name models and voices. */
function spokenWith({ llm_id, stt_id, tts_id, tts_voice_id, config, flow_definition }: AgentContent): object {
  return { llm_id, stt_id, tts_id, tts_voice_id, config, flow_definition };
}
