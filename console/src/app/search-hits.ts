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
  ...Object.fromEntries(RECORD_KINDS.map(({ one, title }) => [typeOf(one), title])),
};

/** As the search calls it what operations call so: `phone_number` for `PhoneNumber`. */
function typeOf(one: string): string {
  return one.replace(/(?<!^)[A-Z]/g, '_$&').toLowerCase();
}

/**
 * The page of a record.
 * @param projectId where the person is: records of the whole org are shown there
 * @returns undefined where no page shows it
 */
export function addressOfHit(
  { type, id, project_id, agent_id }: Pick<SearchHit, 'type' | 'id' | 'project_id' | 'agent_id'>,
  projectId: string | undefined,
): HitAddress | undefined {
  if (type === 'project') return { to: `/projects/${id}/home` };
  const project = project_id ?? projectId;
  if (project === undefined) return undefined;
  const within = `/projects/${project}`;
  if (type === 'session') return { to: `${within}/calls/${id}` };
  if (type === 'agent') return { to: `${within}/agents/${id}` };
  if (type === 'campaign') return { to: `${within}/campaigns/${id}` };
  if (type === 'agent_test')
    return agent_id === null ? undefined : { to: `${within}/agents/${agent_id}/tests` };
  const kind = RECORD_KINDS.find(({ one }) => typeOf(one) === type);
  return kind && { to: `${within}/${kind.id}`, search: { record: id } };
}

export interface HitGroup {
  heading: string;
  found: { hit: SearchHit; address: HitAddress }[];
}

/** What was found, by its kind, as far as a page shows it. */
export function groupHits(hits: readonly SearchHit[], projectId: string | undefined): HitGroup[] {
  return Object.entries(HEADINGS).flatMap(([type, heading]) => {
    const found = hits.flatMap((hit) => {
      const address = hit.type === type ? addressOfHit(hit, projectId) : undefined;
      return address ? [{ hit, address }] : [];
    });
    return found.length === 0 ? [] : [{ heading, found }];
  });
}
