import { ConflictError, ValidationError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AgentRecord } from '../agents/agent-record.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { patchMap } from '../http/patch-schema.ts';
import { invalid } from '../http/validation.ts';
import { checkVariableCount } from '../http/value-schemas.ts';
import type { SessionAgent, SessionAgents } from '../sessions/session-agent.ts';
import { readOverrides, storedOverrides } from '../sessions/session-overrides.ts';
import type { Overrides } from '../sessions/session-overrides.ts';
import type { Collection } from '../storage/collection.ts';
import { defined } from '../storage/defined.ts';
import type { ListPage } from '../storage/list.ts';
import { principalId } from '../tenancy/principal.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import { checkReferences, referenceNotFound } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { noCounters } from './campaign-counters.ts';
import { campaignCollection } from './campaign-model.ts';
import type { CampaignRecord } from './campaign-model.ts';
import type { CampaignCalls } from './campaign-calls.ts';
import { choiceOf } from './campaign-needs.ts';
import type { CallerNumber } from './campaign-needs.ts';
import { RUNNING_FIELDS } from './campaign-schema.ts';
import type { CampaignPatch, NewCampaign } from './campaign-schema.ts';
import { isFinished } from './campaign-states.ts';
import type { CampaignStatus } from './campaign-states.ts';
import { attemptCollection, contactCollection } from './contact-model.ts';
import type { ContactStore } from './contact-store.ts';

/** Records that a campaign names. */
export interface CampaignTargets {
  agents: Collection<AgentRecord>;
  phoneNumbers: Collection<CallerNumber>;
}

/** Whether an agent can run with overrides: `AgentOverrides`. */
export interface CampaignOverrides {
  /** @throws ValidationError with `loc` below `["body", "overrides"]` */
  check(scope: Scope, agent: SessionAgent, overrides: Overrides | null): Promise<unknown>;
}

/** What a call is ordered with. */
const ORDERED = [
  ...(['agent_id', 'agent_version', 'phone_number_ids', 'calling_hours', 'variables', 'overrides'] as const),
] satisfies (keyof CampaignPatch)[];
const CHANGEABLE: readonly CampaignStatus[] = ['draft', 'scheduled', 'paused'];

/** Campaigns as records; `CampaignControl` runs them. */
export class CampaignService {
  readonly #targets: CampaignTargets;
  readonly #agents: SessionAgents;
  readonly #overrides: CampaignOverrides;
  readonly #contacts: Pick<ContactStore, 'change'>;
  readonly #calls: Pick<CampaignCalls, 'withdraw'>;
  readonly #clock: Clock;

  constructor(deps: {
    targets: CampaignTargets;
    agents: SessionAgents;
    agentOverrides: CampaignOverrides;
    contacts: Pick<ContactStore, 'change'>;
    calls: Pick<CampaignCalls, 'withdraw'>;
    clock: Clock;
  }) {
    this.#targets = deps.targets;
    this.#agents = deps.agents;
    this.#overrides = deps.agentOverrides;
    this.#contacts = deps.contacts;
    this.#calls = deps.calls;
    this.#clock = deps.clock;
  }

  list(
    scope: Scope,
    list: ListInput & AnyOf<CampaignRecord, 'status' | 'agent_id' | 'kind'>,
  ): Promise<ListPage<CampaignRecord>> {
    const { status, agent_id, kind } = list;
    const filter = { ...commonFilter(list), ...equalities({ kind, status, agent_id }) };
    return scope.collection(campaignCollection).page(filter, list, ['counting']);
  }

  /** @throws ValidationError; ConflictError `limit_reached`, `invalid_state` for an agent that is archived */
  async create(scope: Scope, caller: Principal, input: NewCampaign): Promise<CampaignRecord> {
    const fields = {
      ...input,
      ...{ start_at: instant(input.start_at), end_at: instant(input.end_at) },
      overrides: storedOverrides(input.overrides),
    };
    await this.#check(scope, fields);
    await checkRoom(scope.collection(campaignCollection), { kind: 'batch' });
    return scope.collection(campaignCollection).insert({
      _id: newId('cmp', this.#clock.now()),
      kind: 'batch',
      ...fields,
      status: 'draft',
      pause_reason: null,
      started_at: null,
      finished_at: null,
      created_by: principalId(caller),
      ...{ source: 'campaign', analysis_ids: null, recipient_list_id: null, resumed_at: null },
      counters: noCounters(),
      counted_batches: 0,
      counting: null,
      active: false,
    });
  }

  /** @throws as `create`; ConflictError `invalid_state` for what may not be changed in its state */
  async change(scope: Scope, campaign: CampaignRecord, patch: CampaignPatch): Promise<CampaignRecord> {
    const { variables, retry, circuit_breaker, start_at, end_at, overrides, ...plain } = defined(patch);
    const basis = [
      ...(['status', 'agent_id', 'agent_version', 'phone_number_ids', 'start_at', 'end_at'] as const),
      ...(['variables', 'retry', 'circuit_breaker', 'overrides'] as const),
    ];
    const changed = await scope.collection(campaignCollection).change(campaign, basis, async (current) => {
      checkChangeable(current.status, Object.keys(defined(patch)));
      const fields = {
        ...plain,
        ...(start_at !== undefined && { start_at: instant(start_at) }),
        ...(end_at !== undefined && { end_at: instant(end_at) }),
        ...(retry && { retry: { ...current.retry, ...defined(retry) } }),
        ...(circuit_breaker && {
          circuit_breaker: { ...current.circuit_breaker, ...defined(circuit_breaker) },
        }),
        ...(overrides !== undefined && { overrides: storedOverrides(overrides) }),
        variables: patchMap(current.variables, variables),
      };
      checkVariableCount(fields.variables);
      await this.#check(scope, { ...current, ...fields }, current);
      return fields;
    });
    // What waits for other hours is looked at again.
    if ('calling_hours' in plain)
      await this.#contacts.change(
        { campaign_id: changed._id, deferred: true, due_at: { $ne: null } },
        { due_at: new Date(this.#clock.now()), deferred: false },
      );
    // What a paused campaign has queued is ordered again, as it is to be now.
    if (changed.status === 'paused' && ORDERED.some((field) => patch[field] !== undefined))
      await this.#calls.withdraw({ campaignId: changed._id, anew: true });
    return changed;
  }

  /** Its contacts and attempts go with it; the sessions stay. @throws ConflictError `invalid_state` */
  async delete(scope: Scope, campaign: CampaignRecord): Promise<void> {
    const { _id } = campaign;
    if (campaign.status !== 'draft' && (!isFinished(campaign.status) || campaign.active))
      throw new ConflictError(
        'invalid_state',
        'Only a draft, or a campaign that is over and whose calls have ended, can be deleted. Cancel it first.',
      );
    const removed = await scope
      .collection(campaignCollection)
      .delete({ _id, status: campaign.status, active: campaign.active });
    if (!removed)
      throw new ConflictError('invalid_state', 'The campaign has been changed meanwhile. Retry the request.');
    await scope.collection(attemptCollection).deleteMany({ campaign_id: _id });
    await scope.collection(contactCollection).deleteMany({ campaign_id: _id });
  }

  /** @param before references that were accepted earlier */
  async #check(scope: Scope, input: CheckedFields, before?: CampaignRecord): Promise<void> {
    const { agent_id, agent_version, start_at, end_at } = input;
    if (end_at && end_at <= (start_at ?? new Date(0)))
      throw invalid(['body', 'end_at'], 'must be later than start_at');
    await checkReferences(scope, [
      { collection: this.#targets.agents, id: agent_id, loc: ['body', 'agent_id'] },
      ...input.phone_number_ids.map((id, n) => ({
        collection: this.#targets.phoneNumbers,
        id,
        loc: ['body', 'phone_number_ids', n],
      })),
    ]);
    const isSameAgent = before?.agent_id === agent_id && before.agent_version === agent_version;
    if (isSameAgent && before.overrides === input.overrides) return;
    const agent = await scope.collection(this.#targets.agents).get(agent_id);
    if (agent.archived_at)
      throw new ConflictError('invalid_state', 'The agent is archived. Restore it first.');
    const asked = await choiceOf(this.#agents, { agent_id, agent_version });
    if (!asked) throw new ValidationError([referenceNotFound(['body', 'agent_version'])]);
    const overrides = readOverrides(input.overrides);
    for (const version of asked.versions) await this.#overrides.check(scope, version, overrides);
  }
}

type CheckedFields = Pick<
  CampaignRecord,
  'agent_id' | 'agent_version' | 'phone_number_ids' | 'start_at' | 'end_at' | 'overrides'
>;

function checkChangeable(status: CampaignStatus, fields: readonly string[]): void {
  if (CHANGEABLE.includes(status)) return;
  const running: readonly string[] = RUNNING_FIELDS;
  if (status === 'running' && fields.every((field) => running.includes(field))) return;
  throw new ConflictError(
    'invalid_state',
    status === 'running'
      ? `While the campaign is running, only ${RUNNING_FIELDS.join(', ')} can be changed. Pause it first.`
      : 'The campaign is over: it cannot be changed.',
  );
}

function instant(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
