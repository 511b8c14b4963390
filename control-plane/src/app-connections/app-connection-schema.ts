import { z } from 'zod';
import { idSchema } from '../http/operation.ts';
import { maybeTime, READ_ONLY_FIELDS, recordFields, time, toTimes } from '../http/record-schema.ts';
import { APP_NAMES } from './app-catalog.ts';
import { CONNECTION_STATUSES } from './app-connection-model.ts';
import type { AppConnectionRecord } from './app-connection-model.ts';
import type { InstalledApp } from './app-settings.ts';

const READ_ONLY = [
  ...READ_ONLY_FIELDS,
  'auth_type',
  'status',
  'account_label',
  'scopes',
  'expires_at',
  'last_error',
  'authorize_url',
] as const;
export const CONNECTION_READ_ONLY = READ_ONLY;
/** What never changes once it is there. */
export const CONNECTION_FIXED = [...READ_ONLY, 'app', 'project_id'] as const;

const app = z.enum(APP_NAMES).meta({ description: 'App of the catalogue.', example: 'cal_com' });
const name = z.string().trim().min(1).max(120);
const authType = z
  .enum(['oauth2', 'api_key'])
  .meta({ description: 'How the app knows us: by a person who agrees there, or by a key.' });

const credentials = z
  .strictObject({
    api_key: z
      .string()
      .min(1)
      .max(500)
      .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII')
      .meta({ description: 'Key of the account at the app.', writeOnly: true }),
  })
  .meta({
    description: 'Required for an app with `auth_type` `api_key`; the key is tried at once. Write-only.',
    example: { api_key: 'cal_live_0123456789abcdef' },
  });

export const createAppConnectionRequest = z
  .strictObject({
    app,
    name,
    project_id: idSchema('prj')
      .nullable()
      .default(null)
      .meta({ description: 'Project that may use it; null: all of the org.' }),
    credentials: credentials.optional(),
  })
  .meta({ id: 'CreateAppConnectionRequest' });
export type CreateAppConnection = z.output<typeof createAppConnectionRequest>;

export const patchAppConnectionRequest = z
  .strictObject({ name })
  .partial()
  .meta({ id: 'PatchAppConnectionRequest' });

export const reconnectAppRequest = z
  .strictObject({ credentials: credentials.optional() })
  .meta({ id: 'ReconnectAppRequest' });
export type ReconnectApp = z.output<typeof reconnectAppRequest>;

export const appConnectionResponse = z
  .object({
    id: z.string().meta({ example: 'apc_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    org_id: z.string(),
    project_id: z.string().nullable().meta({ description: 'Project that may use it; null: all of the org.' }),
    app: z.string().meta({ description: 'App of the catalogue.' }),
    name: z.string(),
    auth_type: authType,
    status: z.enum(CONNECTION_STATUSES).meta({
      description:
        '`pending`: a person has to agree at the app. `connected`. `expired`: the access ended and was not renewed. `revoked`: the access was withdrawn at the app. `error`: the app refuses the credentials. All but `connected` can be reconnected.',
    }),
    account_label: z
      .string()
      .nullable()
      .meta({ description: 'Whose account it is, in the words of the app.' }),
    scopes: z.array(z.string()).meta({ description: 'Permissions that were given (OAuth).' }),
    expires_at: maybeTime.meta({
      description: 'When the access token ends; it is renewed by itself. Null: never, or there is none.',
    }),
    last_error: z
      .string()
      .nullable()
      .meta({ description: 'Why it cannot be used, and what to do; null: nothing is wrong.' }),
    ...recordFields,
  })
  .meta({ id: 'AppConnection' });

/** A connection that was just begun. */
export const startedConnectionResponse = appConnectionResponse
  .extend({
    authorize_url: z.string().nullable().meta({
      description:
        'Where a person has to agree, within ten minutes and once. Null for apps with a key, and in a replay.',
    }),
  })
  .meta({ id: 'StartedAppConnection' });

export function toConnectionResponse(record: AppConnectionRecord): z.infer<typeof appConnectionResponse> {
  return {
    id: record._id,
    org_id: record.org_id,
    project_id: record.project_id,
    app: record.app,
    name: record.name,
    auth_type: record.auth_type,
    status: record.status,
    account_label: record.account_label,
    scopes: record.scopes,
    expires_at: time(record.expires_at),
    last_error: record.last_error,
    ...toTimes(record),
  };
}

export const appResponse = z
  .object({
    app: z.string().meta({ description: 'Its name in requests.' }),
    name: z.string(),
    auth_type: authType,
    available: z.boolean().meta({
      description: 'Whether it can be connected: for OAuth, the installation needs a client at the vendor.',
    }),
    actions: z
      .array(
        z.object({
          action: z.string().meta({ description: 'Name of the action, for a tool.' }),
          description: z.string().meta({ description: 'What it does.' }),
          parameters: z
            .record(z.string(), z.unknown())
            .meta({ description: 'JSON Schema of its arguments.' }),
        }),
      )
      .meta({ description: 'What tools can have it do.' }),
  })
  .meta({ id: 'App' });

export function toAppResponse({
  app: named,
  name: title,
  descriptor,
  oauth,
}: InstalledApp): z.input<typeof appResponse> {
  const { auth, actions } = descriptor;
  return {
    app: named,
    name: title,
    auth_type: auth.type,
    available: auth.type === 'api_key' || oauth !== null,
    actions: actions.map(({ action, description, parameters }) => ({
      action,
      description,
      parameters: { ...parameters },
    })),
  };
}
