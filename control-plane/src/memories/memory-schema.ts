import { z } from 'zod';
import { MEMORY_KINDS } from '@parley/shared/contracts/session-values';
import { patchOf } from '../http/patch-schema.ts';
import { maybeTime, recordFields, time, toTimes } from '../http/record-schema.ts';
import type { MemoryRecord } from './memory-model.ts';

export const MAX_MEMORY_CHARACTERS = 2000;

export const memorySubject = z
  .string()
  .min(1)
  .max(255)
  .meta({ description: 'A phone number or a `user_identifier`.', example: '+14155550100' });
export const memoryKind = z.enum(MEMORY_KINDS);
const content = z
  .string()
  .trim()
  .min(1)
  .max(MAX_MEMORY_CHARACTERS)
  .meta({ example: 'Prefers to be called in the morning.' });
const expiresAt = z.iso
  .datetime({ offset: true })
  .nullable()
  .meta({ description: 'Null: the memory does not expire.', example: '2030-01-31T09:30:00.000Z' });

const writable = { content, pinned: z.boolean().default(false), expires_at: expiresAt.default(null) };

export const createMemoryRequest = z
  .strictObject({ subject: memorySubject, kind: memoryKind, ...writable })
  .meta({ id: 'CreateMemoryRequest' });

export const patchMemoryRequest = patchOf(writable).meta({ id: 'PatchMemoryRequest' });

export const MEMORY_READ_ONLY = [
  'id',
  'agent_id',
  'source',
  'session_id',
  'created_at',
  'updated_at',
] as const;

export const memoryResponse = z
  .object({
    id: z.string().meta({ example: 'mry_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    agent_id: z.string(),
    subject: z.string(),
    kind: memoryKind,
    content: z.string(),
    source: z.enum(['session', 'api']),
    session_id: z.string().nullable(),
    pinned: z.boolean(),
    expires_at: maybeTime,
    ...recordFields,
  })
  .meta({ id: 'Memory' });

export const deletedMemoriesResponse = z
  .object({ deleted: z.number().int().min(0) })
  .meta({ id: 'DeletedMemories' });

export function toMemoryResponse(memory: MemoryRecord): z.infer<typeof memoryResponse> {
  return {
    id: memory._id,
    agent_id: memory.agent_id,
    subject: memory.subject,
    kind: memory.kind,
    content: memory.content,
    source: memory.source,
    session_id: memory.session_id,
    pinned: memory.pinned,
    expires_at: time(memory.expires_at),
    ...toTimes(memory),
  };
}
