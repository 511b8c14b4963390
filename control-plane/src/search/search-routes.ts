import { z } from 'zod';
import type { SearchedText, SearchHit, SearchSource } from '../composition/search-source.ts';
import { anyOf, listOf, queryInteger } from '../http/list-query.ts';
import { defineOperation, type Operation } from '../http/operation.ts';
import { timestamp } from '../http/record-schema.ts';
import type { Directory } from '../tenancy/directory.ts';
import type { Principal } from '../tenancy/principal.ts';
import { roleAtLeast } from '../tenancy/roles.ts';
import type { Scope } from '../tenancy/scope.ts';
import { inOrg, inWholeOrg } from '../tenancy/target.ts';

const MAX_WORDS = 8;
/** As short a part of a number is looked for as one. */
const MIN_DIGITS = 3;
const ACCESS = { key: 'viewer', user: 'viewer' } as const;

/**
 * `GET /v1/orgs/{org_id}/search`
 * @param routes among them those that list what is found
 * @throws Error for a source that no list tells the callers of
 */
export function searchRoutes({
  sources,
  routes,
  directory,
}: {
  sources: readonly SearchSource[];
  routes: readonly Operation[];
  directory: Pick<Directory, 'org'>;
}): Operation[] {
  const types = sources.map(({ type }) => type);
  const lists = new Map(sources.map((source) => [source, listOfSource(source, routes)]));
  const hit = z
    .object({
      type: z.string().meta({ description: `What it is: ${types.join(', ')}. Open.` }),
      id: z.string(),
      project_id: z.string().nullable().meta({ description: 'Null for records of the whole org.' }),
      agent_id: z.string().nullable().meta({ description: 'The agent, of a session or test.' }),
      name: z.string().meta({
        description:
          'Its name. Of a phone number: the number and its label; of a session: the name, identifier or number of who called or was called, else its id.',
      }),
      parent_id: z.string().nullable().meta({
        description: 'The list of a recipient, the campaign of a contact, the knowledge base of a document.',
      }),
      created_at: timestamp,
    })
    .meta({ id: 'SearchHit' });
  const found = listOf(hit).extend({
    total: z.number().int().meta({ description: 'Number of records in `items`.' }),
  });
  return [
    defineOperation({
      id: 'searchRecords',
      method: 'GET',
      path: '/v1/orgs/{org_id}/search',
      tag: 'Search',
      summary: 'Search all records of an org',
      description:
        'Finds records by a part of their name, in any case, by their id, and phone numbers by a part of the number. All words of `q` must be ' +
        'in the name. Sessions are found as by `q` of their list: whole words of who is at the other end, or the end of a number. ' +
        'Recipients and contacts are found by words of their name, each from its first three letters on or whole, by the first seven digits ' +
        'of their number or more, with the country code, and by their id. ' +
        'Only what the lists of these records show the caller: nothing of other projects than theirs, of roles above theirs, of features that are off, or archived. ' +
        'Best first: the id itself, names that are `q`, that begin with it, others; the newest first within each. Of sessions the newest are found. ' +
        'There are no further pages: ask for more letters, or for fewer types.',
      access: ACCESS,
      target: inOrg,
      query: z.object({
        q: z
          .string()
          .max(100)
          .refine((text) => wordsOf(text).length > 0, 'must not be blank')
          .refine((text) => wordsOf(text).length <= MAX_WORDS, `must have at most ${MAX_WORDS} words`)
          .meta({ description: 'What is looked for: words, a number, or an id.' }),
        types: anyOf(z.enum(types)).optional().meta({ description: 'Only records of these types.' }),
        limit: queryInteger(1, 50).default(20).meta({ description: 'Records at most (default 20).' }),
      }),
      responses: { 200: { description: 'What was found', schema: found } },
      handle: async ({ access, scope, query }) => {
        const switched = (await directory.org(scope.orgId))?.feature_flags ?? {};
        const asked = sources.filter((source) => {
          const { feature: flag, ...list } = lists.get(source)!;
          return (
            (!query.types || query.types.includes(source.type)) &&
            (flag === undefined || switched[flag] !== false) &&
            mayList(list, access.principal, scope)
          );
        });
        const searched = toSearched(query.q);
        // One more than wanted of each: whether there are others is said.
        const hits = await Promise.all(
          asked.map(async (source) =>
            (await source.find(scope, searched, query.limit + 1)).map((one) => ({
              type: source.type,
              ...one,
            })),
          ),
        );
        const all = hits.flat().sort(byRank(searched.text));
        const items = all.slice(0, query.limit).map(toResponse);
        const more = all.length > items.length;
        return { items, total: items.length, ...(more && { total_capped: true as const }) };
      },
    }),
  ];
}

type List = Pick<Operation, 'access' | 'feature' | 'target'>;

/** @throws Error where there is no such list */
function listOfSource({ type, list }: SearchSource, routes: readonly Operation[]): List {
  const route = routes.find(({ id }) => id === list);
  if (typeof route?.access !== 'object')
    throw new Error(`No list says who may find ${type} records: ${list} is none.`);
  return route;
}

/** Whether the caller could list the records. */
function mayList({ access, target }: List, { auth }: Pick<Principal, 'auth'>, scope: Scope): boolean {
  if (typeof access !== 'object') return false;
  const needed = auth === 'api_key' ? access.key : access.user;
  if (needed === undefined || (needed !== 'any' && !roleAtLeast(scope.role, needed))) return false;
  return target !== inWholeOrg || auth === 'api_key' || scope.projects === null;
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

function toSearched(q: string): SearchedText {
  const words = wordsOf(q);
  const text = words.join(' ');
  const digits = text.replace(/\D/g, '');
  const isNumber = /^[\d\s()+./-]+$/.test(text) && digits.length >= MIN_DIGITS;
  return { text, words, digits: isNumber ? digits : null };
}

type Hit = SearchHit & { type: string };

function byRank(text: string) {
  const wanted = text.toLowerCase();
  const rank = ({ id, name }: Hit) => {
    if (id === text) return 0;
    const own = name.toLowerCase();
    if (own === wanted) return 1;
    return own.startsWith(wanted) ? 2 : 3;
  };
  return (a: Hit, b: Hit) => rank(a) - rank(b) || b.created_at.getTime() - a.created_at.getTime();
}

function toResponse({ type, id, project_id, agent_id, parent_id, name, created_at }: Hit) {
  return {
    ...{ type, id, project_id, name },
    agent_id: agent_id ?? null,
    parent_id: parent_id ?? null,
    created_at: created_at.toISOString(),
  };
}
