import { z } from 'zod';
import type { SearchHit, SearchSource } from '../composition/search-source.ts';
import { MAX_READ, newestWith, NEWEST } from '../composition/word-search.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Filter } from '../tenancy/scope.ts';
import { sessionCollection } from './session-model.ts';
import type { SessionRecord } from './session-record.ts';
import { searchedWords } from './session-words.ts';

/** An index has sessions by project: of more, those of the newest are found. */
const MAX_PROJECTS = 200;

type Project = StoredRecord & { org_id: string };

/**
 * Sessions of an org, by who is at the other end, or by their id.
 * @param mostRead where each word of a search occurs in more sessions, so many of the newest are looked at
 */
export function sessionSearch(
  { projects }: { projects: Collection<Project> },
  mostRead = MAX_READ,
): SearchSource {
  return {
    type: 'session',
    list: 'listSessions',
    async find(scope, { text }, limit) {
      const sessions = scope.collection(sessionCollection);
      if (z.uuid().safeParse(text).success) {
        const one = await sessions.findOne({ _id: text.toLowerCase() });
        return one ? [toHit(one)] : [];
      }
      const words = searchedWords(text);
      if (words.length === 0) return [];
      const among: Filter<SessionRecord> = { test_run_id: null, parent_session_id: null };
      if (scope.projects === null) {
        const own = await scope.collection(projects).find({}, { sort: NEWEST, limit: MAX_PROJECTS });
        among.project_id = { $in: own.map(({ _id }) => _id) };
      }
      return (await newestWith(sessions, words, among, { limit, mostRead })).map(toHit);
    },
  };
}

function toHit(session: SessionRecord): SearchHit {
  const { _id, project_id, agent_id, created_at, user_identifier, direction } = session;
  const number = direction === 'outbound' ? session.to_number : session.from_number;
  return {
    id: _id,
    project_id,
    name: session.variables['name'] || user_identifier || number || _id,
    ...(agent_id === null ? {} : { agent_id }),
    created_at,
  };
}
