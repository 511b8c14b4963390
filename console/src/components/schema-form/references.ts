import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import { readAll } from '../../api/list-pages.ts';
import { useProject } from '../../app/project.ts';
import type { ReferenceKind } from './reference-kind.ts';

export interface Choice {
  value: string;
  label: string;
}

const FIVE_MINUTES = 300_000;

/** The records that a field may name, for a choice. Empty until they are there, or where the role may not see them. */
export function useChoices(kind: ReferenceKind | undefined): readonly Choice[] {
  const { orgId, projectId } = useProject();
  const { data } = useQuery({
    queryKey: ['choices', kind, orgId, projectId],
    queryFn: () => load(kind!, orgId, projectId),
    enabled: kind !== undefined,
    staleTime: FIVE_MINUTES,
  });
  return data ?? [];
}

async function load(kind: ReferenceKind, orgId: string, projectId: string): Promise<Choice[]> {
  const inProject = (query: Page) => ({ params: { path: { org_id: orgId, project_id: projectId }, query } });
  const inOrg = (query: Page) => ({ params: { path: { org_id: orgId }, query } });
  switch (kind) {
    case 'zone':
      return ['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => ({ value: zone, label: zone }));
    case 'llm':
    case 'stt':
    case 'tts': {
      const models = await readAll((page) =>
        take(
          api.GET('/v1/providers/models', { params: { query: { kind: [kind], org_id: orgId, ...page } } }),
        ),
      );
      return models.map((model) => ({
        value: model.id,
        label:
          model.status === 'available' ? model.name : `${model.name} (${model.status.replaceAll('_', ' ')})`,
      }));
    }
    case 'voice':
      return named((page) =>
        api.GET('/v1/voices', { params: { query: { org_id: orgId, sort: 'name', ...page } } }),
      );
    case 'agent':
      return named((page) => api.GET('/v1/orgs/{org_id}/projects/{project_id}/agents', inProject(page)));
    case 'asset':
      return named((page) =>
        api.GET('/v1/orgs/{org_id}/projects/{project_id}/audio-assets', inProject(page)),
      );
    case 'analysis':
      return named((page) => api.GET('/v1/orgs/{org_id}/projects/{project_id}/analyses', inProject(page)));
    case 'knowledge_base':
      return named((page) =>
        api.GET('/v1/orgs/{org_id}/projects/{project_id}/knowledge-bases', inProject(page)),
      );
    case 'database':
      return named((page) => api.GET('/v1/orgs/{org_id}/projects/{project_id}/databases', inProject(page)));
    case 'number': {
      const numbers = await readAll((page) =>
        take(api.GET('/v1/orgs/{org_id}/projects/{project_id}/phone-numbers', inProject(page))),
      );
      return numbers.map((number) => ({
        value: number.id,
        label: number.label ? `${number.phone_number} · ${number.label}` : number.phone_number,
      }));
    }
    case 'list':
      return named((page) =>
        api.GET('/v1/orgs/{org_id}/projects/{project_id}/recipient-lists', inProject(page)),
      );
    case 'tool':
      return named((page) => api.GET('/v1/orgs/{org_id}/tools', inOrg(page)));
    case 'account':
      return named((page) => api.GET('/v1/orgs/{org_id}/telephony-accounts', inOrg(page)));
    case 'connection':
      return named((page) => api.GET('/v1/orgs/{org_id}/app-connections', inOrg(page)));
    case 'credential':
      return named((page) => api.GET('/v1/orgs/{org_id}/provider-credentials', inOrg(page)));
  }
}

interface Page {
  offset: number;
  limit: number;
}

/** All records of a list, by their names. */
async function named(
  read: (
    page: Page,
  ) => Promise<{ data?: { items: { id: string; name: string }[] }; error?: unknown; response: Response }>,
): Promise<Choice[]> {
  const all = await readAll((page) => take(read(page)));
  return all.map(({ id, name }) => ({ value: id, label: name }));
}
