import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import type { ReferenceKind } from './reference-kind.ts';

export interface Choice {
  value: string;
  label: string;
}

const FIVE_MINUTES = 300_000;
const LIMIT = 200;

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
  const inProject = { path: { org_id: orgId, project_id: projectId }, query: { limit: LIMIT } };
  const inOrg = { path: { org_id: orgId }, query: { limit: LIMIT } };
  switch (kind) {
    case 'zone':
      return ['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => ({ value: zone, label: zone }));
    case 'llm':
    case 'stt':
    case 'tts': {
      const query = { kind: [kind], org_id: orgId, limit: LIMIT };
      const { items } = await take(api.GET('/v1/providers/models', { params: { query } }));
      return items.map((model) => ({
        value: model.id,
        label:
          model.status === 'available' ? model.name : `${model.name} (${model.status.replaceAll('_', ' ')})`,
      }));
    }
    case 'voice': {
      const query = { org_id: orgId, limit: LIMIT, sort: 'name' as const };
      const { items } = await take(api.GET('/v1/voices', { params: { query } }));
      return named(items);
    }
    case 'agent':
      return named(
        (await take(api.GET('/v1/orgs/{org_id}/projects/{project_id}/agents', { params: inProject }))).items,
      );
    case 'asset':
      return named(
        (await take(api.GET('/v1/orgs/{org_id}/projects/{project_id}/audio-assets', { params: inProject })))
          .items,
      );
    case 'analysis':
      return named(
        (await take(api.GET('/v1/orgs/{org_id}/projects/{project_id}/analyses', { params: inProject })))
          .items,
      );
    case 'knowledge_base':
      return named(
        (
          await take(
            api.GET('/v1/orgs/{org_id}/projects/{project_id}/knowledge-bases', { params: inProject }),
          )
        ).items,
      );
    case 'database':
      return named(
        (await take(api.GET('/v1/orgs/{org_id}/projects/{project_id}/databases', { params: inProject })))
          .items,
      );
    case 'number': {
      const path = '/v1/orgs/{org_id}/projects/{project_id}/phone-numbers';
      const { items } = await take(api.GET(path, { params: inProject }));
      return items.map((number) => ({
        value: number.id,
        label: number.label ? `${number.phone_number} · ${number.label}` : number.phone_number,
      }));
    }
    case 'list':
      return named(
        (
          await take(
            api.GET('/v1/orgs/{org_id}/projects/{project_id}/recipient-lists', { params: inProject }),
          )
        ).items,
      );
    case 'tool':
      return named((await take(api.GET('/v1/orgs/{org_id}/tools', { params: inOrg }))).items);
    case 'account': {
      const { items } = await take(api.GET('/v1/orgs/{org_id}/telephony-accounts', { params: inOrg }));
      return named(items);
    }
    case 'connection': {
      const { items } = await take(api.GET('/v1/orgs/{org_id}/app-connections', { params: inOrg }));
      return items.map((one) => ({ value: one.id, label: one.name }));
    }
    case 'credential': {
      const { items } = await take(api.GET('/v1/orgs/{org_id}/provider-credentials', { params: inOrg }));
      return items.map((one) => ({ value: one.id, label: one.name }));
    }
  }
}

function named(items: readonly { id: string; name: string }[]): Choice[] {
  return items.map(({ id, name }) => ({ value: id, label: name }));
}
