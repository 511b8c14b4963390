import { z } from 'zod';
import { callingWindowsSchema } from '../calling-hours/calling-windows.ts';
import { idSchema } from '../http/operation.ts';
import { patchOf } from '../http/patch-schema.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import { e164, variablesSchema } from '../http/value-schemas.ts';
import { MAX_DEPLOYMENT_CALLS } from '../sessions/session-slots.ts';
import { inboundActionSchema } from './inbound-action.ts';
import { withActions, type InboundDeploymentRecord } from './inbound-deployment-model.ts';

const deploymentFields = {
  name: z.string().min(1).max(120),
  phone_number_id: idSchema('phn'),
  agent_id: idSchema('agt'),
  agent_version: z.number().int().min(1).nullable().default(null),
  status: z.enum(['active', 'paused']).default('active'),
  availability: callingWindowsSchema
    .refine((windows) => !windows.use_contact_timezone, {
      path: ['use_contact_timezone'],
      message: 'is not available: nothing is known of where a caller is',
    })
    .nullable()
    .default(null),
  closed_dates: z.array(z.iso.date()).max(60).default([]),
  outside_hours: inboundActionSchema.prefault({}),
  overflow: z
    .strictObject({
      max_concurrent: z.number().int().min(1).max(MAX_DEPLOYMENT_CALLS).nullable().default(null),
      action: inboundActionSchema.prefault({}),
    })
    .prefault({}),
  blocked_numbers: z.array(e164).max(1000).default([]),
  variables: variablesSchema.default({}),
};

export const deploymentBody = z.strictObject(deploymentFields).meta({ id: 'CreateInboundDeploymentRequest' });
export const deploymentPatch = patchOf(deploymentFields, ['availability']).meta({
  id: 'PatchInboundDeploymentRequest',
});

export const deploymentResponse = z
  .object({
    id: z.string(),
    org_id: z.string(),
    project_id: z.string(),
    name: z.string(),
    phone_number_id: z.string(),
    agent_id: z.string(),
    agent_version: z.number().int().nullable(),
    status: z.string(),
    availability: callingWindowsSchema.nullable(),
    closed_dates: z.array(z.iso.date()),
    outside_hours: inboundActionSchema,
    overflow: z.object({
      max_concurrent: z.number().int().nullable(),
      action: inboundActionSchema,
    }),
    blocked_numbers: z.array(z.string()),
    variables: z.record(z.string(), z.string()),
    ...recordFields,
  })
  .meta({ id: 'InboundDeployment' });

export function toDeployment(stored: InboundDeploymentRecord): z.input<typeof deploymentResponse> {
  const record = withActions(stored);
  return {
    id: record._id,
    org_id: record.org_id,
    project_id: record.project_id,
    name: record.name,
    phone_number_id: record.phone_number_id,
    agent_id: record.agent_id,
    agent_version: record.agent_version,
    status: record.status,
    availability: record.availability,
    closed_dates: record.closed_dates,
    outside_hours: record.outside_hours,
    overflow: record.overflow,
    blocked_numbers: record.blocked_numbers,
    variables: record.variables,
    ...toTimes(record),
  };
}
