import { item } from '../tenancy/target.ts';
import { sessionCollection } from './session-model.ts';

/** The session that a path names, for routes of whatever is kept of it. */
export const sessionTarget = item(sessionCollection, 'session_id');
