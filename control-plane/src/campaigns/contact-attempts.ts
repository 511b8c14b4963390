import { createHash } from 'node:crypto';
import type { Model } from 'mongoose';
import {
  AppError,
  ConflictError,
  PaymentRequiredError,
  ValidationError,
} from '@parley/shared/errors/app-error';
import { uuidV7 } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionAgent } from '../sessions/session-agent.ts';
import { readOverrides, withOverrides } from '../sessions/session-overrides.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { CampaignCall, CampaignCalls } from './campaign-calls.ts';
import type { CampaignRecord, PauseReason } from './campaign-model.ts';
import { isFinished } from './campaign-states.ts';
import { attemptCollection } from './contact-model.ts';
import type { AttemptRecord, ContactRecord } from './contact-model.ts';
import { afterAttempt, isTakenBack, isTechnical, outcomeOf } from './contact-outcome.ts';
import type { AttemptedSession } from './contact-outcome.ts';
import type { ContactStore } from './contact-store.ts';

/** How long a contact waits whose call found no place in the queue. */
const FULL_MS = 5000;

/** A session that is the call of a contact, as far as the contact depends on it. */
export type ContactSession = AttemptedSession & {
  _id: string;
  contact_id: string | null;
  ended_at: Date | null;
  goal_status: string | null;
};

/**
 * What came of an attempt to order the call of a contact. `refused`: the campaign cannot call now, for this reason;
 * `full`: the queue takes no further ones for a moment; `taken`: somebody else has moved the contact.
 */
export type Ordered =
  | { is: 'queued' }
  | { is: 'skipped' }
  | { is: 'taken' }
  | { is: 'full' }
  | { is: 'refused'; why: PauseReason };

/**
 * Attempts to call contacts. The id of the attempt's session is written into the contact by the same step that claims it,
 * and the session is ordered under that id: whoever finds a claimed contact without its session orders the same one
 * again, so that a process that dies in between neither forgets nor doubles a call.
 */
export class ContactAttempts {
  readonly #attempts: Model<AttemptRecord>;
  readonly #database: Database;
  readonly #contacts: ContactStore;
  readonly #calls: CampaignCalls;
  readonly #clock: Clock;

  constructor(deps: { database: Database; contacts: ContactStore; calls: CampaignCalls; clock: Clock }) {
    this.#attempts = deps.database.model(attemptCollection);
    this.#database = deps.database;
    this.#contacts = deps.contacts;
    this.#calls = deps.calls;
    this.#clock = deps.clock;
  }

  /**
   * Claims a contact that waits, and orders its call.
   * @param place among those that are begun side by side: their calls wait in this order
   * @throws what storage and dialling fail with
   */
  async begin(
    campaign: CampaignRecord,
    agent: SessionAgent,
    contact: ContactRecord,
    place: number,
  ): Promise<Ordered> {
    const now = this.#clock.now() + place;
    const claimed = await this.#contacts.move({ _id: contact._id, revision: contact.revision }, 'claim', {
      set: {
        ...{ last_session_id: uuidV7(now), queued_at: new Date(now), due_at: null, next_attempt_at: null },
        ...{ outcome: null, goal_status: null, deferred: false },
      },
      add: { attempts_made: 1, round_attempts: 1 },
    });
    return claimed ? this.order(campaign, agent, claimed) : { is: 'taken' };
  }

  /** Orders the call of a contact that is claimed; again, it is the same call. */
  async order(campaign: CampaignRecord, agent: SessionAgent, contact: ContactRecord): Promise<Ordered> {
    try {
      await this.place(campaign, agent, contact);
      return { is: 'queued' };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error instanceof ValidationError && error.details.every(isOfVariables)) {
        await this.#forget(contact, 'skip');
        return { is: 'skipped' };
      }
      await this.#forget(contact, 'release');
      if (error instanceof PaymentRequiredError) return { is: 'refused', why: 'insufficient_balance' };
      if (error instanceof ConflictError) return { is: 'refused', why: 'number_unavailable' };
      return error instanceof ValidationError ? { is: 'refused', why: 'agent_unavailable' } : { is: 'full' };
    }
  }

  /** The same, throwing what dialling refuses it with. */
  async place(campaign: CampaignRecord, agent: SessionAgent, contact: ContactRecord): Promise<void> {
    const sessionId = contact.last_session_id!;
    await this.#note(contact, sessionId);
    try {
      await this.#calls.queue({ sessionId, ...callOf(campaign, agent, contact) });
    } catch (error) {
      // It is there already.
      if (!isDuplicateKey(error, '_id')) throw error;
    }
  }

  /** Looks whether a contact that is called later could be called now. @throws what dialling would refuse it with */
  check(campaign: CampaignRecord, agent: SessionAgent, contact: ContactRecord): Promise<void> {
    return this.#calls.check(callOf(campaign, agent, contact));
  }

  /** Somebody, or something, has answered. */
  async answered(session: Pick<ContactSession, '_id' | 'contact_id'>): Promise<ContactRecord | null> {
    if (session.contact_id === null) return null;
    return this.#contacts.move({ _id: session.contact_id, last_session_id: session._id }, 'answer');
  }

  /**
   * Writes down what an attempt came to, and what becomes of the contact by it. Safe to repeat.
   * @returns the contact where it has moved
   */
  async settle(campaign: CampaignRecord, session: ContactSession): Promise<ContactRecord | null> {
    if (session.contact_id === null) return null;
    const now = this.#clock.now();
    const outcome = outcomeOf(session);
    await this.#attempts.updateOne(
      { _id: attemptId(session._id), outcome: null },
      { $set: { outcome, technical: isTechnical(session), ended_at: session.ended_at ?? new Date(now) } },
    );
    const contact = await this.#contacts.read(session.contact_id);
    if (!contact || contact.last_session_id !== session._id) return null;
    const isUntried = session.failure_reason === 'insufficient_balance' && session.started_at === null;
    if (isUntried || (isTakenBack(session) && !isFinished(campaign.status))) return this.release(contact);
    const state = !isFinished(campaign.status)
      ? 'open'
      : campaign.status === 'cancelled'
        ? 'cancelled'
        : 'over';
    const next = afterAttempt(session, campaign.retry, contact.round_attempts, state);
    const due = next.event === 'retry' ? new Date(now + next.delayMinutes * 60_000) : null;
    return this.#contacts.move({ _id: contact._id, last_session_id: session._id }, next.event, {
      set: {
        ...{ outcome, queued_at: null },
        // What an analysis has found meanwhile stays.
        ...(session.goal_status !== null && { goal_status: session.goal_status }),
        ...{ due_at: due, next_attempt_at: due },
        ...(next.event === 'skip' && { skip_reason: next.reason }),
      },
      add: {
        ...(outcome === 'answered' && { answered_count: 1 }),
        ...(outcome === 'voicemail' && { voicemail_count: 1 }),
      },
    });
  }

  /** Notes what came of the goal, of the last attempt of a contact. */
  async goalFound({ _id, contact_id }: ContactSession, goal: string): Promise<void> {
    if (contact_id === null) return;
    await this.#contacts.change({ _id: contact_id, last_session_id: _id }, { goal_status: goal });
  }

  /** Takes back a claim whose call was not placed: it was no attempt. */
  release(contact: ContactRecord): Promise<ContactRecord | null> {
    return this.#forget(contact, 'release');
  }

  async #forget(contact: ContactRecord, how: 'release' | 'skip'): Promise<ContactRecord | null> {
    const session = contact.last_session_id!;
    await this.#attempts.deleteOne({ _id: attemptId(session) });
    const before = await this.#attempts
      .findOne({ contact_id: contact._id })
      .sort({ created_at: -1 })
      .lean<AttemptRecord>();
    const isFirst = contact.round_attempts <= 1;
    const due = how === 'skip' ? null : new Date(this.#clock.now() + FULL_MS);
    return this.#contacts.move(
      { _id: contact._id, last_session_id: session },
      how === 'skip' ? 'skip' : isFirst ? 'release' : 'release_retry',
      {
        set: {
          ...{ last_session_id: before?.session_id ?? null, outcome: before?.outcome ?? null },
          ...{ queued_at: null, due_at: due, next_attempt_at: isFirst ? null : due },
          ...(how === 'skip' && { skip_reason: 'missing_variable' as const }),
        },
        add: { attempts_made: -1, round_attempts: -1 },
      },
    );
  }

  async #note(contact: ContactRecord, sessionId: string): Promise<void> {
    try {
      await this.#database.insert(attemptCollection, {
        _id: attemptId(sessionId),
        ...{ org_id: contact.org_id, project_id: contact.project_id },
        ...{ campaign_id: contact.campaign_id, contact_id: contact._id, session_id: sessionId },
        attempt_number: contact.attempts_made,
        queued_at: contact.queued_at ?? new Date(this.#clock.now()),
        created_at: new Date(this.#clock.now()),
      });
    } catch (error) {
      if (!isDuplicateKey(error, '_id')) throw error;
    }
  }
}

/** The call of a contact, as it is ordered. */
function callOf(
  campaign: CampaignRecord,
  agent: SessionAgent,
  contact: ContactRecord,
): Omit<CampaignCall, 'sessionId'> {
  const { name, external_id, phone_number } = contact;
  const overrides = readOverrides(campaign.overrides);
  const given = { name, external_id, phone_number, ...campaign.variables, ...contact.variables };
  return {
    scope: { orgId: campaign.org_id, projectId: campaign.project_id },
    agent: withOverrides(agent, overrides),
    kind: campaign.kind === 'single' ? 'single' : 'campaign',
    to: phone_number!,
    numberIds: campaign.phone_number_ids,
    variables: Object.fromEntries(
      Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== null),
    ),
    overrides,
    analysisIds: campaign.analysis_ids,
    campaignId: campaign._id,
    contactId: contact._id,
    attemptNumber: contact.attempts_made,
    contactTimezone: contact.timezone,
    callingHours: campaign.calling_hours,
    notBefore: contact.queued_at,
    source: campaign.source,
  };
}

/** One for each session, whoever notes it, and however often. */
function attemptId(sessionId: string): string {
  return `att_${createHash('sha256').update(sessionId).digest('hex').slice(0, 26)}`;
}

function isOfVariables({ loc }: { loc: readonly (string | number)[] }): boolean {
  return loc[1] === 'variables';
}
