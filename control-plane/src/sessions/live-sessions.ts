import { TERMINAL_STATUSES } from '@parley/shared/contracts/session-values';
import type { Database } from '../storage/database.ts';
import { sessionCollection } from './session-model.ts';

/** Tells whether a session was made. */
export function sessionExists(database: Database) {
  return async (id: string): Promise<boolean> =>
    (await database.model(sessionCollection).exists({ _id: id })) !== null;
}

/** Tells whether an org, or one project of it, has calls that are not over. */
export function hasLiveSessions(database: Database) {
  return async (tenant: { org_id: string; project_id?: string }): Promise<boolean> => {
    const live = { ...tenant, status: { $nin: [...TERMINAL_STATUSES] } };
    return (await database.model(sessionCollection).exists(live)) !== null;
  };
}
