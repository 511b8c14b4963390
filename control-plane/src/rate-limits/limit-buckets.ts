import type { LimitedResource, RateLimitRecord } from './rate-limit-model.ts';

/**
 * The name of a limit on what its target dials, under which its places and its pace are counted. All limits of one kind on
 * one target have the same name: there is one of each.
 */
export function dialLimitScope(
  target: Pick<RateLimitRecord, 'org_id' | 'project_id' | 'agent_id' | 'telephony_account_id'>,
): string {
  const whose = target.agent_id ?? target.project_id ?? target.org_id;
  return target.telephony_account_id == null
    ? `limit:${whose}`
    : `limit:${whose}:${target.telephony_account_id}`;
}

/** The bucket in which a limit counts what happens in a window. */
export function windowBucket(
  resource: Exclude<LimitedResource, 'concurrent_sessions' | 'concurrent_outbound'>,
  limitId: string,
): string {
  return resource === 'api_requests' ? `api:${limitId}` : `${resource}:${limitId}`;
}

type SessionLimit = Pick<RateLimitRecord, '_id' | 'project_id' | 'agent_id' | 'telephony_account_id'>;

/** What a limit on sessions narrows down to. */
export function sessionLimitKind({
  agent_id,
  telephony_account_id,
}: Omit<SessionLimit, '_id'>): 'agent' | 'account' | 'tenant' {
  if (agent_id != null) return 'agent';
  return telephony_account_id == null ? 'tenant' : 'account';
}

/** The bucket in which a limit counts the sessions that run at a time. Sessions of an org and of a project have one each. */
export function sessionSlots(limit: SessionLimit & { org_id: string }): string {
  const kind = sessionLimitKind(limit);
  if (kind !== 'tenant') return `${kind}:${limit._id}`;
  return limit.project_id === null ? `org:${limit.org_id}` : `project:${limit.project_id}`;
}
