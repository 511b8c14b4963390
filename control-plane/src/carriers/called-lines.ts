import type { Directory } from '../tenancy/directory.ts';
import type { CalledNumber, CalledNumbers, DeployedNumber, NumberDeployments } from './deployed-number.ts';

/** A number of ours, and what is to become of calls to it. */
export interface CalledLine {
  number: CalledNumber;
  deployment: DeployedNumber;
}

/** A call to it is not taken. */
export interface ClosedLine {
  reason: 'busy' | 'rejected';
  why: 'unknown_number' | 'not_deployed' | 'org_suspended';
}

/** What people reach who call a number. */
export class CalledLines {
  readonly #numbers: CalledNumbers;
  readonly #deployments: NumberDeployments;
  readonly #directory: Directory;

  constructor(deps: { numbers: CalledNumbers; deployments: NumberDeployments; directory: Directory }) {
    this.#numbers = deps.numbers;
    this.#deployments = deps.deployments;
    this.#directory = deps.directory;
  }

  /** @param to E.164; null if the carrier does not say */
  async find(accountId: string, to: string | null): Promise<CalledLine | ClosedLine> {
    const number = to === null ? null : await this.#numbers.findActive(accountId, to);
    if (!number) return { reason: 'rejected', why: 'unknown_number' };
    const deployment = await this.#deployments.forNumber(number._id);
    if (!deployment) return { reason: 'rejected', why: 'not_deployed' };
    const org = await this.#directory.org(number.org_id);
    if (org?.status !== 'active') return { reason: 'busy', why: 'org_suspended' };
    return { number, deployment };
  }
}
