import { hasPassedRun } from '../agent-tests/agent-test-service.ts';
import { createAgents } from '../agents/agent-feature.ts';
import type { ProjectDefaults } from '../agents/agent-service.ts';
import { agentCollection } from '../agents/agent-model.ts';
import { createAppConnections } from '../app-connections/app-connection-feature.ts';
import { appConnectionCollection } from '../app-connections/app-connection-model.ts';
import { createAnalyses } from '../analyses/analysis-feature.ts';
import { analysisCollection } from '../analyses/analysis-model.ts';
import { createAudioAssets } from '../audio-assets/audio-asset-feature.ts';
import { audioAssetCollection } from '../audio-assets/audio-asset-model.ts';
import { AutoDatabases } from '../databases/auto-database.ts';
import { createDatabases } from '../databases/database-feature.ts';
import { createImports } from '../imports/import-feature.ts';
import { knowledgeBaseCollection } from '../knowledge-bases/knowledge-base-model.ts';
import { createMemories } from '../memories/memory-feature.ts';
import type { ProviderAccounts } from '../providers/provider-accounts.ts';
import type { ModelCatalog } from '../providers/model-catalog.ts';
import type { ToolCallLimits } from '../rate-limits/tool-call-limits.ts';
import { sessionCollection } from '../sessions/session-model.ts';
import { phoneNumberCollection } from '../telephony/phone-number-model.ts';
import { createTools } from '../tools/tool-feature.ts';
import { toolCollection } from '../tools/tool-model.ts';
import type { AllFeatures } from './all-features.ts';
import type { Platform } from './platform.ts';

/** Features whose parts no other one asks for by name. A new one is its folder and a line here. */
const MORE = () => [import('../knowledge-bases/knowledge-base-feature.ts')];

/** What calls are held with: agents, and what is attached to them. */
export async function createAgentFeatures(
  features: AllFeatures,
  {
    models,
    accounts,
    projects,
    toolCallLimits,
    ...platform
  }: Platform & {
    models: ModelCatalog;
    accounts: ProviderAccounts;
    projects: ProjectDefaults;
    toolCallLimits: ToolCallLimits;
  },
) {
  const autoDatabases = new AutoDatabases({ ...platform, agents: agentCollection });
  const { agents, agentLinks, agentOverrides, agentVersions, headerSecrets, storedAgents } = features.add(
    createAgents({
      ...{ ...platform, models, projects, dependents: features, hasPassedTests: hasPassedRun },
      databases: autoDatabases,
      attachable: {
        tools: toolCollection,
        analyses: analysisCollection,
        knowledge_bases: knowledgeBaseCollection,
      },
      named: {
        tool: toolCollection,
        knowledge_base: knowledgeBaseCollection,
        phone_number: phoneNumberCollection,
        audio_asset: audioAssetCollection,
      },
    }),
  );
  const ofAgents = { ...platform, agents: storedAgents, links: agentLinks };
  const { audioAssets } = features.add(createAudioAssets(ofAgents));
  const { memories } = features.add(createMemories(platform));
  const { appActions } = features.add(createAppConnections({ ...platform, tools: toolCollection }));
  const { tools } = features.add(
    createTools({
      ...{ ...ofAgents, apps: appActions, connections: appConnectionCollection },
      ...{ sessions: sessionCollection, toolCallLimits },
    }),
  );
  const { analyses } = features.add(createAnalyses({ ...ofAgents, models, tools: toolCollection }));
  const { imports, importKinds } = features.add(createImports(platform));
  const { databaseRows, rowImports } = features.add(
    createDatabases({ ...platform, imports, agents: agentCollection, analyses: analysisCollection }),
  );
  importKinds.push(rowImports);
  const forMore = { ...ofAgents, sessions: sessionCollection, accounts };
  for (const { createFeature } of await Promise.all(MORE())) features.add(createFeature(forMore));
  return {
    agents,
    agentOverrides,
    agentVersions,
    analyses,
    audioAssets,
    autoDatabases,
    databaseRows,
    headerSecrets,
    imports,
    importKinds,
    memories,
    storedAgents,
    tools,
  };
}
