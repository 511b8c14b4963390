import { useQuery } from '@tanstack/react-query';
import type { JsonSchema, Schemas } from '../components/schema-form/field.ts';
import { toApiError, unreachable } from './api-error.ts';
import { apiUrl } from './page-settings.ts';
import { reachability } from './reachability.ts';

/** What the API says of itself: forms and tables are made of it. */
export interface Description {
  paths: Readonly<Record<string, Readonly<Record<string, OperationDescription>>>>;
  components: { schemas: Schemas };
}

export interface OperationDescription {
  operationId: string;
  summary: string;
  description?: string;
  parameters?: readonly {
    name: string;
    in: string;
    required?: boolean;
    description?: string;
    schema: JsonSchema;
  }[];
  requestBody?: { content: Readonly<Record<string, { schema: JsonSchema }>> };
  responses: Readonly<Record<string, { content?: Readonly<Record<string, { schema: JsonSchema }>> }>>;
  'x-required-role'?: { user?: string; api_key?: string };
}

/** `/openapi.json`, read once in the life of the page. */
export function useDescription() {
  return useQuery({
    queryKey: ['description'],
    queryFn: readDescription,
    staleTime: Infinity,
    gcTime: Infinity,
  });
}

async function readDescription(): Promise<Description> {
  const response = await fetch(`${apiUrl}/openapi.json`).catch((error: unknown) => {
    reachability.lost();
    throw unreachable(error);
  });
  if (!response.ok) throw toApiError(response.status, null, response.headers.get('x-request-id'));
  return (await response.json()) as Description;
}
