import type { Feature } from '../composition/feature.ts';
import { namedRecords } from '../composition/search-source.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import type { ModelCatalog } from '../providers/model-catalog.ts';
import type { Scope } from '../tenancy/scope.ts';
import { AgentContents } from './agent-content.ts';
import { agentLinkRoutes } from './agent-link-routes.ts';
import { AgentLinks } from './agent-links.ts';
import type { AttachableRecords } from './agent-links.ts';
import { agentCollection, agentSecretCollection, agentVersionCollection } from './agent-model.ts';
import { AgentOverrides } from './agent-overrides.ts';
import type { NamedRecords } from './agent-references.ts';
import { agentRoutes } from './agent-routes.ts';
import { agentSample } from './agent-sample.ts';
import { AGENT_AUDIT, AgentService } from './agent-service.ts';
import type { AgentDependents, ProjectDefaults } from './agent-service.ts';
import { AgentVersions } from './agent-versions.ts';
import type { PassedTests } from './agent-versions.ts';
import { AgentWriter } from './agent-writer.ts';
import type { AgentDatabases } from './agent-writer.ts';
import { HeaderSecrets } from './header-secrets.ts';
import { StoredAgents } from './stored-agents.ts';

export function createAgents({
  database,
  clock,
  audit,
  box,
  config,
  ...deps
}: Pick<Platform, 'audit' | 'box' | 'clock' | 'config' | 'database'> & {
  models: ModelCatalog;
  projects: ProjectDefaults;
  dependents: AgentDependents;
  hasPassedTests: PassedTests;
  databases: AgentDatabases;
  attachable: AttachableRecords;
  named: NamedRecords;
}) {
  const headerSecrets = new HeaderSecrets({ database, box });
  const writer = new AgentWriter({ ...deps, database, clock });
  const contents = new AgentContents(deps);
  const agentOverrides = new AgentOverrides(deps);
  const agentLinks = new AgentLinks({ database, writer, records: deps.attachable });
  const agentVersions = new AgentVersions({ ...deps, writer, contents, links: agentLinks });
  const storedAgents = new StoredAgents({ database, secrets: headerSecrets });
  const agents = new AgentService({
    ...deps,
    ...{ writer, contents, audit, clock, secrets: headerSecrets, outboundAllow: config.OUTBOUND_ALLOW },
  });
  return {
    ...{ agents, agentLinks, agentOverrides, agentVersions, headerSecrets, storedAgents },
    collections: [agentCollection, agentSecretCollection, agentVersionCollection],
    searches: [
      namedRecords('agent', agentCollection, { list: 'listAgents', where: () => ({ archived_at: null }) }),
    ],
    routes: [
      ...agentRoutes({ agents, versions: agentVersions, links: agentLinks }),
      ...agentLinkRoutes(agentLinks),
    ],
    parameters: { agent_id: idSchema('agt') },
    uses: {
      agent: (scope: Scope, agentId: string) => storedAgents.handingOverTo(scope.orgId, agentId),
      models: (orgId: string, ids: readonly string[]) => storedAgents.naming(orgId, ids),
    },
    audit: AGENT_AUDIT,
    samples: [agentSample],
  } satisfies Feature & { agents: AgentService };
}
