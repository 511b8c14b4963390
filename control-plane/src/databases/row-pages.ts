import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import type { ListPage } from '../storage/list.ts';
import type { Scope } from '../tenancy/scope.ts';
import { databaseRowCollection } from './database-model.ts';
import type { DatabaseRecord, DatabaseRowRecord } from './database-model.ts';

/** A page of the rows of a database. */
export function listRows(
  scope: Scope,
  database: DatabaseRecord,
  list: ListInput & AnyOf<DatabaseRowRecord, 'session_id' | 'agent_id'>,
): Promise<ListPage<DatabaseRowRecord>> {
  const { session_id, agent_id } = list;
  const filter = {
    database_id: database._id,
    ...commonFilter(list),
    ...equalities({ session_id, agent_id }),
  };
  return scope.collection(databaseRowCollection).page(filter, list, ['cells', 'order']);
}
