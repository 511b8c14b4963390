import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import { memoryCollection } from './memory-model.ts';
import { memoryRoutes } from './memory-routes.ts';
import { memorySample } from './memory-sample.ts';
import { MEMORY_AUDIT, MemoryService } from './memory-service.ts';

export function createMemories(deps: Pick<Platform, 'audit' | 'clock' | 'database' | 'directory'>) {
  const memories = new MemoryService(deps);
  return {
    memories,
    collections: [memoryCollection],
    routes: memoryRoutes({ memories }),
    parameters: { memory_id: idSchema('mry') },
    erases: { agent: (scope, agentId) => memories.forgetAgent(scope, agentId) },
    flags: [{ key: 'memories', description: 'Memories of callers' }],
    audit: MEMORY_AUDIT,
    samples: [memorySample],
  } satisfies Feature & { memories: MemoryService };
}
