import { ConflictError, ValidationError, type ValidationDetail } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { commonFilter, equalities, type AnyOf, type ListInput } from '../http/list-query.ts';
import { patchMap } from '../http/patch-schema.ts';
import { invalid } from '../http/validation.ts';
import { checkVariableCount } from '../http/value-schemas.ts';
import { orDuplicate } from '../storage/duplicate.ts';
import type { AgentRecord, AgentVersionRecord } from '../agents/agent-record.ts';
import type { Collection } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import { checkReferences } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { changedAction, type InboundActionPatch } from './inbound-action.ts';
import {
  inboundDeploymentCollection,
  withActions,
  type InboundDeploymentRecord,
} from './inbound-deployment-model.ts';
import { phoneNumberCollection } from './phone-number-model.ts';

export type DeploymentInput = Pick<
  InboundDeploymentRecord,
  | 'name'
  | 'phone_number_id'
  | 'agent_id'
  | 'agent_version'
  | 'status'
  | 'availability'
  | 'closed_dates'
  | 'outside_hours'
  | 'overflow'
  | 'blocked_numbers'
  | 'variables'
>;

export type DeploymentPatch = {
  [K in keyof Omit<DeploymentInput, 'variables' | 'outside_hours' | 'overflow'>]?:
    DeploymentInput[K] | undefined;
} & {
  outside_hours?: InboundActionPatch | undefined;
  overflow?:
    { max_concurrent?: number | null | undefined; action?: InboundActionPatch | undefined } | undefined;
  /** Put on top of those there are; null removes one. */
  variables?: Record<string, string | null> | null | undefined;
};

/** Whether calls of an account may go to a number's country: `TelephonyAccountService`. */
export interface ForwardRules {
  allowsCountryOf(accountId: string, number: string): Promise<boolean>;
}

/** Whom a number can be bound to. */
export interface DeploymentTargets {
  agents: Collection<AgentRecord>;
  agentVersions: Collection<AgentVersionRecord>;
}

/** Which agent answers which number. */
export class InboundDeploymentService {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #targets: DeploymentTargets;
  readonly #forwards: ForwardRules;

  constructor(deps: {
    database: Database;
    clock: Clock;
    targets: DeploymentTargets;
    forwards: ForwardRules;
  }) {
    this.#database = deps.database;
    this.#clock = deps.clock;
    this.#targets = deps.targets;
    this.#forwards = deps.forwards;
  }

  list(
    scope: Scope,
    list: ListInput & AnyOf<InboundDeploymentRecord, 'status' | 'agent_id' | 'phone_number_id'>,
  ) {
    const { status, agent_id, phone_number_id } = list;
    return scope
      .collection(inboundDeploymentCollection)
      .page({ ...commonFilter(list), ...equalities({ status, agent_id, phone_number_id }) }, list);
  }

  /** @throws ValidationError `reference_not_found`; ConflictError `duplicate` when the number is bound already */
  async create(scope: Scope, input: DeploymentInput): Promise<InboundDeploymentRecord> {
    const settings = { ...input, ...changedActions(input, input) };
    await this.#check(scope, settings);
    await checkRoom(scope.collection(inboundDeploymentCollection));
    return orDuplicate(
      scope.collection(inboundDeploymentCollection).insert({
        _id: newId('ibd', this.#clock.now()),
        ...settings,
        active_number_id: input.status === 'active' ? input.phone_number_id : null,
      }),
      BOUND,
    );
  }

  /** @throws as `create` */
  async change(
    scope: Scope,
    deployment: InboundDeploymentRecord,
    patch: DeploymentPatch,
  ): Promise<InboundDeploymentRecord> {
    const basis = [
      ...(['phone_number_id', 'agent_id', 'agent_version', 'status'] as const),
      ...(['outside_hours', 'overflow', 'variables'] as const),
    ];
    const { variables, outside_hours, overflow, ...fields } = patch;
    return orDuplicate(
      scope.collection(inboundDeploymentCollection).change(deployment, basis, async (stored) => {
        const current = withActions(stored);
        const actions = changedActions(current, { outside_hours, overflow });
        const next = { ...current, ...defined(fields), ...actions };
        next.variables = patchMap(current.variables, variables);
        checkVariableCount(next.variables);
        await this.#check(scope, next);
        return {
          ...fields,
          ...actions,
          variables: next.variables,
          active_number_id: next.status === 'active' ? next.phone_number_id : null,
        };
      }),
      BOUND,
    );
  }

  async delete(scope: Scope, deployment: InboundDeploymentRecord): Promise<void> {
    await scope.collection(inboundDeploymentCollection).delete({ _id: deployment._id });
  }

  /** The one that calls to the number go to: the active one, else the newest that is paused. */
  async forNumber(numberId: string): Promise<InboundDeploymentRecord | null> {
    const model = this.#database.model(inboundDeploymentCollection);
    const found =
      (await model.findOne({ active_number_id: numberId }).lean<InboundDeploymentRecord>()) ??
      (await model
        .findOne({ phone_number_id: numberId, status: 'paused' })
        .sort({ created_at: -1, _id: -1 })
        .lean<InboundDeploymentRecord>());
    return found && withActions(found);
  }

  async #check(
    scope: Scope,
    input: Pick<
      DeploymentInput,
      'phone_number_id' | 'agent_id' | 'agent_version' | 'outside_hours' | 'overflow'
    >,
  ): Promise<void> {
    const actions = [
      { action: input.outside_hours, loc: ['body', 'outside_hours'] },
      { action: input.overflow.action, loc: ['body', 'overflow', 'action'] },
    ];
    await checkReferences(scope, [
      { collection: phoneNumberCollection, id: input.phone_number_id, loc: ['body', 'phone_number_id'] },
      { collection: this.#targets.agents, id: input.agent_id, loc: ['body', 'agent_id'] },
      ...actions.flatMap(({ action, loc }) =>
        action.agent_id === null
          ? []
          : [{ collection: this.#targets.agents, id: action.agent_id, loc: [...loc, 'agent_id'] }],
      ),
    ]);
    const number = await scope.collection(phoneNumberCollection).get(input.phone_number_id);
    if (number.status !== 'active')
      throw new ConflictError('invalid_state', 'The phone number is not active.');
    const agent = await scope.collection(this.#targets.agents).get(input.agent_id);
    const acting = actions.flatMap(({ action }) => action.agent_id ?? []);
    const others = await scope
      .collection(this.#targets.agents)
      .find({ _id: { $in: acting } }, { limit: Math.max(1, acting.length) });
    for (const { name, archived_at } of [agent, ...others])
      if (archived_at)
        throw new ConflictError('invalid_state', `The agent ${name} is archived. Restore it first.`);
    for (const { action, loc } of actions) {
      const to = action.forward_to;
      if (to === null) continue;
      if (to === number.phone_number) throw invalid([...loc, 'forward_to'], 'must be another number');
      if (!(await this.#forwards.allowsCountryOf(number.telephony_account_id, to)))
        throw invalid([...loc, 'forward_to'], 'must be in a country that the telephony account may call');
    }
    if (input.agent_version === null || input.agent_version === agent.version) return;
    const version = await scope
      .collection(this.#targets.agentVersions)
      .findOne({ agent_id: agent._id, version: input.agent_version });
    if (version) return;
    const detail: ValidationDetail = {
      loc: ['body', 'agent_version'],
      msg: 'Version not found',
      type: 'reference_not_found',
    };
    throw new ValidationError([detail]);
  }
}

const BOUND = 'The phone number already has an active deployment.';

/** @throws ValidationError */
function changedActions(
  current: Pick<DeploymentInput, 'outside_hours' | 'overflow'>,
  patch: Pick<DeploymentPatch, 'outside_hours' | 'overflow'>,
): Pick<DeploymentInput, 'outside_hours' | 'overflow'> {
  const { outside_hours = {}, overflow = {} } = patch;
  const { max_concurrent = current.overflow.max_concurrent, action = {} } = overflow;
  return {
    outside_hours: changedAction(current.outside_hours, outside_hours, ['body', 'outside_hours']),
    overflow: {
      max_concurrent,
      action: changedAction(current.overflow.action, action, ['body', 'overflow', 'action']),
    },
  };
}
