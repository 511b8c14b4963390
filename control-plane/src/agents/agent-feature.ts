import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import { agentLinkRoutes } from './agent-link-routes.ts';
import { agentCollection, agentSecretCollection, agentVersionCollection } from './agent-model.ts';
import { agentRoutes } from './agent-routes.ts';
import { agentSample } from './agent-sample.ts';
import { AGENT_AUDIT, AgentService } from './agent-service.ts';
import { HeaderSecrets } from './header-secrets.ts';

type AgentDeps = ConstructorParameters<typeof AgentService>[0];

export function createAgents({
  config,
  ...deps
}: Omit<AgentDeps, 'secrets' | 'outboundAllow'> & Pick<Platform, 'box' | 'config'>) {
  const headerSecrets = new HeaderSecrets(deps);
  const agents = new AgentService({
    ...deps,
    secrets: headerSecrets,
    outboundAllow: config.OUTBOUND_ALLOW,
  });
  return {
    agents,
    headerSecrets,
    collections: [agentCollection, agentSecretCollection, agentVersionCollection],
    routes: [...agentRoutes({ agents }), ...agentLinkRoutes({ agents })],
    parameters: { agent_id: idSchema('agt') },
    uses: { models: (orgId, ids) => agents.naming(orgId, ids) },
    audit: AGENT_AUDIT,
    samples: [agentSample],
  } satisfies Feature & { agents: AgentService; headerSecrets: HeaderSecrets };
}
