import type { components } from '../api/schema.d.ts';
import { RECORD_KINDS } from './record-kinds.ts';

export type SearchHit = components['schemas']['SearchHit'];

export interface HitAddress {
  to: string;
  search?: { record: string };
}

/** The headings of what is found, in their order. */
const HEADINGS: Readonly<Record<string, string>> = {
  project: 'Projects',
  agent: 'Agents',
  session: 'Calls',
  campaign: 'Campaigns',
  agent_test: 'Tests',
  contact: 'Contacts',
  recipient: 'Recipients',
  knowledge_file: 'Documents',
  ucc_complaint: 'Complaints',
  member: 'Members',
  api_key: 'API keys',
  invoice: 'Invoices',
  ...Object.fromEntries(RECORD_KINDS.map(({ one, title }) => [typeOf(one), title])),
};

/** Kinds of records whose page is that of the record they are in. */
const HOLDERS: Readonly<Record<string, string>> = {
  recipient: 'recipient-lists',
  knowledge_file: 'knowledge-bases',
};

/** Where the person is, as far as it is known. */
export interface Place {
  projectId: string | undefined;
  orgId: string | undefined;
}

/** As the search calls it what operations call so: `phone_number` for `PhoneNumber`. */
function typeOf(one: string): string {
  return one.replace(/(?<!^)[A-Z]/g, '_$&').toLowerCase();
}

/**
 * The page of a record.
 * @param at where the person is: records of the whole org are shown there
 * @returns undefined where no page shows it
 */
export function addressOfHit(
  { type, id, project_id, agent_id, parent_id }: Omit<SearchHit, 'name' | 'created_at'>,
  { projectId, orgId }: Place,
): HitAddress | undefined {
  if (type === 'project') return { to: `/projects/${id}/home` };
  if (type === 'member') return orgId === undefined ? undefined : { to: `/orgs/${orgId}/members` };
  if (type === 'invoice') return orgId === undefined ? undefined : { to: `/orgs/${orgId}/billing` };
  const project = project_id ?? projectId;
  if (project === undefined) return undefined;
  const within = `/projects/${project}`;
  if (type === 'session') return { to: `${within}/calls/${id}` };
  if (type === 'agent') return { to: `${within}/agents/${id}` };
  if (type === 'campaign') return { to: `${within}/campaigns/${id}` };
  if (type === 'agent_test')
    return agent_id === null
      ? undefined
      : { to: `${within}/agents/${agent_id}/tests`, search: { record: id } };
  if (type === 'api_key') return { to: `${within}/api-keys` };
  if (type === 'contact') return { to: `${within}/campaigns/${parent_id}`, search: { record: id } };
  if (type === 'ucc_complaint') return { to: `${within}/ucc-complaints`, search: { record: id } };
  const holder = HOLDERS[type];
  if (holder !== undefined)
    return parent_id === null ? undefined : { to: `${within}/${holder}`, search: { record: parent_id } };
  const kind = RECORD_KINDS.find(({ one }) => typeOf(one) === type);
  return kind && { to: `${within}/${kind.id}`, search: { record: id } };
}

export interface HitGroup {
  heading: string;
  found: { hit: SearchHit; address: HitAddress }[];
}

/** What was found, by its kind, as far as a page shows it. */
export function groupHits(hits: readonly SearchHit[], place: Place): HitGroup[] {
  return Object.entries(HEADINGS).flatMap(([type, heading]) => {
    const found = hits.flatMap((hit) => {
      const address = hit.type === type ? addressOfHit(hit, place) : undefined;
      return address ? [{ hit, address }] : [];
    });
    return found.length === 0 ? [] : [{ heading, found }];
  });
}
