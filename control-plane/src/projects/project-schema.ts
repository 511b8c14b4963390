import { z } from 'zod';
import { patchOf } from '../http/patch-schema.ts';
import { maybeTime, recordFields, time, toTimes } from '../http/record-schema.ts';
import { timezoneName } from '../http/value-schemas.ts';
import type { ProjectRecord } from './project-model.ts';

const id = z.string().min(1).max(120).nullable();

const writable = {
  name: z.string().trim().min(1).max(120).meta({ example: 'Support line' }),
  description: z.string().max(500),
  timezone: timezoneName.nullable(),
  default_llm_id: id,
  default_stt_id: id,
  default_tts_id: id,
  default_voice_id: z.string().min(1).max(200).nullable(),
  default_telephony_account_id: id,
  recording_enabled: z.boolean(),
  retention_days: z.number().int().min(0).max(3650).nullable(),
};

export const createProjectRequest = z
  .strictObject(writable)
  .partial()
  .required({ name: true })
  .meta({ id: 'CreateProjectRequest' });
export const patchProjectRequest = patchOf({
  ...writable,
  description: writable.description.default(''),
  recording_enabled: writable.recording_enabled.default(true),
}).meta({ id: 'PatchProjectRequest' });

export const PROJECT_READ_ONLY = ['id', 'org_id', 'slug', 'archived_at', 'created_at', 'updated_at'] as const;

export const projectResponse = z
  .object({
    id: z.string().meta({ example: 'prj_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    org_id: z.string(),
    name: z.string(),
    slug: z.string(),
    description: z.string(),
    timezone: z.string().nullable(),
    default_llm_id: z.string().nullable(),
    default_stt_id: z.string().nullable(),
    default_tts_id: z.string().nullable(),
    default_voice_id: z.string().nullable(),
    default_telephony_account_id: z.string().nullable(),
    recording_enabled: z.boolean(),
    retention_days: z.number().int().nullable(),
    archived_at: maybeTime,
    ...recordFields,
  })
  .meta({ id: 'Project' });

export function toProjectResponse(project: ProjectRecord): z.infer<typeof projectResponse> {
  return {
    id: project._id,
    org_id: project.org_id,
    name: project.name,
    slug: project.slug,
    description: project.description,
    timezone: project.timezone,
    default_llm_id: project.default_llm_id,
    default_stt_id: project.default_stt_id,
    default_tts_id: project.default_tts_id,
    default_voice_id: project.default_voice_id,
    default_telephony_account_id: project.default_telephony_account_id,
    recording_enabled: project.recording_enabled,
    retention_days: project.retention_days,
    archived_at: time(project.archived_at),
    ...toTimes(project),
  };
}
