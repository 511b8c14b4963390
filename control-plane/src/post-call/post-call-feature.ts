import type { Feature } from '../composition/feature.ts';
import { analysisResultCollection } from './analysis-result-model.ts';
import { analysisResultRoutes } from './analysis-result-routes.ts';
import { postCallJobCollection } from './post-call-job-model.ts';
import { PostCallService } from './post-call-service.ts';
import type { PostCallStep } from './post-call-service.ts';
import { RuleAnalyses } from './rule-analyses.ts';

type PostCallDeps = ConstructorParameters<typeof PostCallService>[0];
type RuleDeps = ConstructorParameters<typeof RuleAnalyses>[0];

/** What follows calls. `memories`: what agents learn of their callers, after the analyses. */
export function createPostCall({
  memories,
  ...deps
}: Omit<PostCallDeps, 'steps'> & RuleDeps & { memories: PostCallStep }) {
  const postCall = new PostCallService({ ...deps, steps: [new RuleAnalyses(deps), memories] });
  return {
    postCall,
    collections: [analysisResultCollection, postCallJobCollection],
    routes: analysisResultRoutes({ postCall }),
    erases: { session: (sessionId: string) => postCall.erase(sessionId) },
  } satisfies Feature & { postCall: PostCallService };
}
