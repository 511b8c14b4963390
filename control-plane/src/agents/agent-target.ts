import { item } from '../tenancy/target.ts';
import { agentCollection } from './agent-model.ts';

/** The agent that a path names, for routes of whatever belongs to it. */
export const agentTarget = item(agentCollection, 'agent_id');
