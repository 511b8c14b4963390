import { z } from 'zod';
import { defineOperation } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import type { Principal } from '../tenancy/principal.ts';

const principalResponse = z
  .object({
    auth: z.enum(['api_key', 'jwt']),
    org_id: z.string().nullable().meta({ description: 'Set for API keys.' }),
    project_id: z.string().nullable().meta({ description: 'Set for API keys.' }),
    user_id: z.string().nullable().meta({ description: 'Set for users.' }),
    api_key_id: z.string().nullable().meta({ description: 'Set for API keys.' }),
  })
  .meta({ id: 'Principal' });

function toPrincipalResponse(caller: Principal): z.infer<typeof principalResponse> {
  const isKey = caller.auth === 'api_key';
  return {
    auth: caller.auth,
    org_id: isKey ? caller.org_id : null,
    project_id: isKey ? caller.project_id : null,
    user_id: isKey ? null : caller.user_id,
    api_key_id: isKey ? caller.api_key_id : null,
  };
}

export function meRoutes(): Operation[] {
  return [
    defineOperation({
      id: 'getMe',
      method: 'GET',
      path: '/v1/me',
      tag: 'Me',
      summary: 'Get the authenticated caller',
      access: { key: 'viewer', user: 'any' },
      responses: { 200: { description: 'The caller', schema: principalResponse } },
      handle: ({ caller }) => toPrincipalResponse(caller),
    }),
  ];
}
