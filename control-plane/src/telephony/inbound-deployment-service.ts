import { ConflictError, ValidationError, type ValidationDetail } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { commonFilter, equalities, type AnyOf, type ListInput } from '../http/list-query.ts';
import { patchMap } from '../http/patch-schema.ts';
import { checkVariableCount } from '../http/value-schemas.ts';
import { orDuplicate } from '../storage/duplicate.ts';
import type { AgentRecord, AgentVersionRecord } from '../agents/agent-record.ts';
import type { Collection } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import { checkReferences } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { inboundDeploymentCollection } from './inbound-deployment-model.ts';
import type { InboundDeploymentRecord } from './inbound-deployment-model.ts';
import { phoneNumberCollection } from './phone-number-model.ts';

export interface DeploymentInput {
  name: string;
  phone_number_id: string;
  agent_id: string;
  agent_version: number | null;
  status: 'active' | 'paused';
  blocked_numbers: string[];
  variables: Record<string, string>;
}

export type DeploymentPatch = {
  [K in keyof Omit<DeploymentInput, 'variables'>]?: DeploymentInput[K] | undefined;
} & {
  /** Put on top of those there are; null removes one. */
  variables?: Record<string, string | null> | null | undefined;
};

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

  constructor(deps: { database: Database; clock: Clock; targets: DeploymentTargets }) {
    this.#database = deps.database;
    this.#clock = deps.clock;
    this.#targets = deps.targets;
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
    await this.#check(scope, input);
    await checkRoom(scope.collection(inboundDeploymentCollection));
    return orDuplicate(
      scope.collection(inboundDeploymentCollection).insert({
        _id: newId('ibd', this.#clock.now()),
        ...input,
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
    const basis = ['phone_number_id', 'agent_id', 'agent_version', 'status', 'variables'] as const;
    const { variables, ...fields } = patch;
    return orDuplicate(
      scope.collection(inboundDeploymentCollection).change(deployment, basis, async (current) => {
        const next = { ...current, ...defined(fields) };
        next.variables = patchMap(current.variables, variables);
        checkVariableCount(next.variables);
        await this.#check(scope, next);
        return {
          ...fields,
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

  /** The one a call to the number goes to, whether active or paused; active ones first. */
  async forNumber(numberId: string): Promise<InboundDeploymentRecord | null> {
    return this.#database
      .model(inboundDeploymentCollection)
      .findOne({ active_number_id: numberId })
      .lean<InboundDeploymentRecord>();
  }

  async #check(
    scope: Scope,
    input: Pick<DeploymentInput, 'phone_number_id' | 'agent_id' | 'agent_version'>,
  ): Promise<void> {
    await checkReferences(scope, [
      { collection: phoneNumberCollection, id: input.phone_number_id, loc: ['body', 'phone_number_id'] },
      { collection: this.#targets.agents, id: input.agent_id, loc: ['body', 'agent_id'] },
    ]);
    const number = await scope.collection(phoneNumberCollection).get(input.phone_number_id);
    if (number.status !== 'active')
      throw new ConflictError('invalid_state', 'The phone number is not active.');
    const agent = await scope.collection(this.#targets.agents).get(input.agent_id);
    if (agent.archived_at)
      throw new ConflictError('invalid_state', 'The agent is archived. Restore it first.');
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
