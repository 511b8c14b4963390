import type { Feature } from '../composition/feature.ts';
import { namedRecords } from '../composition/search-source.ts';
import { idSchema } from '../http/operation.ts';
import type { Database } from '../storage/database.ts';
import { analysisCollection } from './analysis-model.ts';
import { analysisRoutes } from './analysis-routes.ts';
import { analysisSample } from './analysis-sample.ts';
import { AnalysisService } from './analysis-service.ts';

export function createAnalyses(deps: ConstructorParameters<typeof AnalysisService>[0]) {
  const analyses = new AnalysisService(deps);
  return {
    analyses,
    collections: [analysisCollection],
    searches: [namedRecords('analysis', analysisCollection, { list: 'listAnalyses' })],
    routes: analysisRoutes({ analyses }),
    parameters: { analysis_id: idSchema('ana') },
    uses: { models: (orgId, ids) => analysesNaming(deps.database, orgId, ids) },
    samples: [analysisSample],
  } satisfies Feature & { analyses: AnalysisService };
}

async function analysesNaming(database: Database, orgId: string, ids: readonly string[]) {
  const named = await database
    .model(analysisCollection)
    .find({ org_id: orgId, llm_id: { $in: [...ids] } })
    .limit(20)
    .lean();
  return named.map(({ _id, name }) => ({ type: 'analysis', id: _id, name }));
}
