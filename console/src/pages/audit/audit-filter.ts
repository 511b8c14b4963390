import { daysBefore } from '../../components/days.ts';
import { inWords } from '../../components/format.ts';

/** What an org's audit trail tells of. */
export const AUDIT_ACTIONS: readonly string[] = [
  'agent.purged',
  'api_key.created',
  'api_key.revoked',
  'app_connection.connected',
  'app_connection.created',
  'app_connection.deleted',
  'app_connection.reconnected',
  'campaign.cancelled',
  'campaign.deleted',
  'campaign.exported',
  'campaign.redialled',
  'campaign.started',
  'credential.changed',
  'credential.created',
  'credential.deleted',
  'database.exported',
  'feature_flag.changed',
  'invite.created',
  'invite.revoked',
  'invoice.issued',
  'invoice.paid',
  'invoice.uncollectible',
  'invoice.void',
  'knowledge_base.deleted',
  'knowledge_file.added',
  'knowledge_file.deleted',
  'member.changed',
  'member.joined',
  'member.removed',
  'memories.erased',
  'org.changed',
  'org.created',
  'person.erased',
  'phone_number.bought',
  'phone_number.released',
  'project.archived',
  'project.created',
  'rates.changed',
  'recipient_list.deleted',
  'recipient_list.exported',
  'recording.deleted',
  'recording.read',
  'secret.rotated',
  'session.erased',
  'session.replayed',
  'sessions.exported',
  'suppression.removed',
  'tool.deleted',
  'tool.discovered',
  'tool_calls.exported',
  'turns.exported',
  'usage.exported',
  'wallet.changed',
  'wallet.topped_up',
];

/** `API key revoked` */
export function actionInWords(action: string): string {
  return inWords(action);
}

/** Which entries are shown; empty texts: all. */
export interface AuditFilter {
  /** Id of a user or API key, `cli` or `system`. */
  actor: string;
  action: string;
  /** Id of what it was done to. */
  target: string;
  /** First and last day, `2026-01-31` in UTC. */
  from: string;
  to: string;
}

export const NO_FILTER: AuditFilter = { actor: '', action: '', target: '', from: '', to: '' };

const MAX_LENGTH = 120;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Reads what stands in an address. What is not understood there is left out. */
export function readAuditFilter(search: Readonly<Record<string, unknown>>): AuditFilter {
  const text = (name: keyof AuditFilter) => {
    const value = search[name];
    // What is all digits the address reader has made a number of.
    return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, MAX_LENGTH) : '';
  };
  const day = (name: 'from' | 'to') => {
    const value = text(name);
    return DAY.test(value) && !Number.isNaN(Date.parse(value)) ? value : '';
  };
  const action = text('action');
  return {
    ...{ actor: text('actor'), target: text('target'), from: day('from'), to: day('to') },
    action: AUDIT_ACTIONS.includes(action) ? action : '',
  };
}

/** A filter as it stands in an address: without what is empty. */
export function toAddress(filter: AuditFilter): Partial<AuditFilter> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''));
}

export function isFiltered(filter: AuditFilter): boolean {
  return Object.values(filter).some((text) => text !== '');
}

/** Why the server would refuse the filter; null: it would not. */
export function problemOf({ from, to }: AuditFilter): string | null {
  return from !== '' && to !== '' && from > to ? 'Choose a last day that is not before the first.' : null;
}

/** The same as the API is asked. */
export function toAuditQuery({ actor, action, target, from, to }: AuditFilter) {
  return {
    ...(actor !== '' && { actor: [actor] }),
    ...(action !== '' && { action: [action] }),
    ...(target.trim() !== '' && { target: [target.trim()] }),
    ...(from !== '' && { created_after: `${from}T00:00:00Z` }),
    ...(to !== '' && { created_before: `${daysBefore(to, -1)}T00:00:00Z` }),
  };
}
