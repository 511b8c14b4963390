import type {
  AdmissionCheckRequest,
  AdmissionCheckResponse,
  RedeemRequest,
} from '@parley/shared/contracts/admission';
import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import type { Clock } from '@parley/shared/time/clock';
import type { PreCallService } from '../sessions/pre-call.ts';
import { visibleVariables } from '../sessions/session-plan.ts';
import { speakingAgentOf, type SessionAgents } from '../sessions/session-agent.ts';
import type { SessionCloser } from '../sessions/session-closer.ts';
import type { KeyAdmission } from './key-admission.ts';
import type { AdmissionCredentials } from './admission-credentials.ts';
import { sessionOver, type SessionLegs } from './session-legs.ts';
import type { SessionPlans } from './session-plans.ts';

/** Answers gateways: whether a socket is admitted, and which plan it runs. */
export class AdmissionService {
  readonly #credentials: AdmissionCredentials;
  readonly #keys: Pick<KeyAdmission, 'mint'>;
  readonly #legs: SessionLegs;
  readonly #preCall: PreCallService;
  readonly #agents: SessionAgents;
  readonly #closer: SessionCloser;
  readonly #plans: SessionPlans;
  readonly #clock: Clock;

  constructor(deps: {
    credentials: AdmissionCredentials;
    keys: Pick<KeyAdmission, 'mint'>;
    legs: SessionLegs;
    preCall: PreCallService;
    agents: SessionAgents;
    closer: SessionCloser;
    plans: SessionPlans;
    clock: Clock;
  }) {
    this.#credentials = deps.credentials;
    this.#keys = deps.keys;
    this.#legs = deps.legs;
    this.#preCall = deps.preCall;
    this.#agents = deps.agents;
    this.#closer = deps.closer;
    this.#plans = deps.plans;
    this.#clock = deps.clock;
  }

  /**
   * Looks before the upgrade is answered; changes nothing.
   * @throws UnauthorizedError `credential_invalid`, `signature_invalid`
   */
  check(request: AdmissionCheckRequest): Promise<AdmissionCheckResponse> {
    return this.#credentials.check(request);
  }

  /**
   * Claims the credential for one socket and answers with the plan. The same `claim_id` may ask again and gets the
   * same answer.
   * @throws UnauthorizedError `credential_invalid`; ConflictError `in_use`, `session_over`, `call_id_mismatch`;
   *   ForbiddenError `agent_refused`; PaymentRequiredError; TooManyRequestsError `limit`
   */
  async redeem(sent: RedeemRequest): Promise<SessionPlanWire> {
    const request = sent.kind === 'api_key' ? await this.#keys.mint(sent) : sent;
    const ticket = await this.#credentials.claim(request);
    const session = await this.#preCall.settled(await this.#legs.bind(ticket, request));
    const agent = await speakingAgentOf(this.#agents, session);
    if (session.agent_id !== null && !agent) throw sessionOver();
    const asked = session.pre_call?.state ?? 'done';
    if (asked !== 'done' && agent?.config.pre_call.on_error === 'reject') {
      await this.#closer.close(session._id, 'failed', {
        set: {
          ended_at: new Date(this.#clock.now()),
          ended_by: 'system',
          failure_reason: 'missing_variable',
          post_call_status: 'skipped',
        },
      });
      throw sessionOver();
    }
    return this.#plans.make({ ...session, variables: visibleVariables(session) }, agent, request.claim_id);
  }
}
