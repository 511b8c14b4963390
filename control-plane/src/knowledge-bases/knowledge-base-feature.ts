import type { Feature } from '../composition/feature.ts';
import { idSchema } from '../http/operation.ts';
import { knowledgeBaseCollection } from './knowledge-base-model.ts';
import { knowledgeBaseRoutes } from './knowledge-base-routes.ts';
import { knowledgeBaseSample } from './knowledge-base-sample.ts';
import { KnowledgeBaseService } from './knowledge-base-service.ts';

export function createFeature(deps: ConstructorParameters<typeof KnowledgeBaseService>[0]) {
  const knowledgeBases = new KnowledgeBaseService(deps);
  return {
    collections: [knowledgeBaseCollection],
    routes: knowledgeBaseRoutes({ knowledgeBases }),
    // Where it is attached to an agent, the path calls it by its whole name.
    parameters: { kb_id: idSchema('kbs'), knowledge_base_id: idSchema('kbs') },
    flags: [{ key: 'knowledge_bases', description: 'Knowledge bases' }],
    samples: [knowledgeBaseSample],
  } satisfies Feature;
}
