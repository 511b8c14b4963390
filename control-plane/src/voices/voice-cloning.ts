import type { z } from 'zod';
import { ConflictError, TooManyRequestsError, ValidationError } from '@parley/shared/errors/app-error';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import { newId } from '@parley/shared/ids/new-id';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { invalid } from '../http/validation.ts';
import type { BackgroundWork } from '../lifecycle/background-work.ts';
import type { OrgModelCatalog } from '../providers/model-catalog.ts';
import type { ProviderAccount } from '../providers/provider-accounts.ts';
import type { Database } from '../storage/database.ts';
import type { UserPrincipal } from '../tenancy/principal.ts';
import { referenceNotFound } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import { voicesOf } from '../providers/provider-voices.ts';
import { MAX_CLONES_PER_ORG } from './clone-state.ts';
import { voiceCollection } from './voice-model.ts';
import type { VoiceRecord } from './voice-model.ts';
import type { cloneVoiceRequest } from './voice-schema.ts';

/** How long a request waits for its clone before it is told that it is being made. */
const CLONE_GRACE_MS = 2000;
/** Each holds its recordings in memory. */
const MAX_CLONES_AT_ONCE = 4;

/** Who pays for a clone that is made in the installation's account: `SpeechCharges`. */
export interface ClonePayment {
  /** @throws PaymentRequiredError */
  holdClone(clone: { orgId: string; ttsId: string; id: string }): Promise<Payment>;
}

interface Payment {
  settle(): Promise<void>;
  release(): Promise<void>;
}

const FREE: Payment = { settle: () => Promise.resolve(), release: () => Promise.resolve() };

/** Makes voices of recordings. */
export class VoiceCloning implements Disposable {
  readonly #database: Database;
  readonly #models: OrgModelCatalog;
  readonly #fetch: SafeFetch;
  readonly #background: BackgroundWork;
  readonly #charges: ClonePayment;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #cloneGraceMs: number;
  readonly #stopping = new AbortController();
  #cloning = 0;

  constructor(deps: {
    database: Database;
    models: OrgModelCatalog;
    fetch: SafeFetch;
    background: BackgroundWork;
    charges: ClonePayment;
    clock: Clock;
    logger: Logger;
    cloneGraceMs?: number;
  }) {
    this.#database = deps.database;
    this.#models = deps.models;
    this.#fetch = deps.fetch;
    this.#background = deps.background;
    this.#charges = deps.charges;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#cloneGraceMs = deps.cloneGraceMs ?? CLONE_GRACE_MS;
  }

  /**
   * @returns the voice, ready or still being made
   * @throws PaymentRequiredError; ProviderFailure when the provider refuses at once
   */
  async clone(
    scope: Scope,
    caller: UserPrincipal,
    request: z.output<typeof cloneVoiceRequest>,
  ): Promise<VoiceRecord> {
    const { account, isPaidHere } = await this.#cloningAccount(scope, request.tts_id);
    const voices = scope.collection(voiceCollection);
    if ((await voices.count({}, { limit: MAX_CLONES_PER_ORG })) >= MAX_CLONES_PER_ORG) {
      throw new ConflictError(
        'limit_reached',
        `Limit of voice clones in an org reached (${MAX_CLONES_PER_ORG}). Delete one first.`,
      );
    }
    if (this.#cloning >= MAX_CLONES_AT_ONCE) {
      throw new TooManyRequestsError(
        'rate_limited',
        'Too many voice clones are being created. Retry in a few seconds.',
        10,
      );
    }
    this.#cloning++;
    let voice: VoiceRecord;
    let payment = FREE;
    try {
      const id = newId('voc', this.#clock.now());
      const { tts_id: ttsId } = request;
      if (isPaidHere) payment = await this.#charges.holdClone({ orgId: scope.orgId, ttsId, id });
      voice = await voices.insert({
        _id: id,
        name: request.name,
        provider: account.provider,
        tts_id: request.tts_id,
        provider_voice_id: null,
        credential_id: account.credentialId,
        languages: [request.language],
        description: '',
        tags: [],
        is_public: false,
        owner_user_id: caller.user_id,
        status: 'processing',
        error: null,
      });
    } catch (error) {
      this.#cloning--;
      await payment.release();
      throw error;
    }
    const answer = await this.#withinGrace(this.#make(voice, account, request.files, payment), voice);
    if (answer.status !== 'failed' || answer.provider_voice_id !== null) return answer;
    await voices.delete({ _id: voice._id });
    throw new ProviderFailure(answer.error as ProviderFailure['fault']);
  }

  /** Gives up what is being made. */
  [Symbol.dispose](): void {
    this.#stopping.abort(new Error('The service is stopping. Retry in a few seconds.'));
  }

  async #cloningAccount(
    scope: Scope,
    ttsId: string,
  ): Promise<{ account: ProviderAccount; isPaidHere: boolean }> {
    const loc = ['body', 'tts_id'];
    const model = await this.#models.find(scope.orgId, ttsId);
    if (model?.kind !== 'tts') throw new ValidationError([referenceNotFound(loc)]);
    if (!voicesOf(model.provider)?.clones)
      throw invalid(
        loc,
        'is a model of a provider that clones no voices: choose another model',
        'not_available',
      );
    const account = (await this.#models.open(scope.orgId, ttsId, {}))?.account;
    const isPaidHere = account?.credentialId === null && model.orgId === null;
    if (!account)
      throw invalid(loc, 'is a model without credentials, or one that is disabled', 'not_available');
    return { account, isPaidHere };
  }

  /** Gives the voice to its provider and notes what became of it. Goes on when its request has been answered. */
  #make(voice: VoiceRecord, account: ProviderAccount, files: File[], payment: Payment): Promise<VoiceRecord> {
    const finished = (async () => {
      let outcome: Pick<VoiceRecord, 'status' | 'error' | 'provider_voice_id'>;
      try {
        const { name } = voice;
        const made = await voicesOf(account.provider)!.clones!.make(
          account,
          this.#fetch,
          { name, files },
          this.#stopping.signal,
        );
        outcome = made.needsVerification
          ? { status: 'failed', error: 'verification_required', provider_voice_id: made.voiceId }
          : { status: 'ready', error: null, provider_voice_id: made.voiceId };
      } catch (error) {
        const fault = error instanceof ProviderFailure ? error.fault : 'unavailable';
        this.#logger.warn({ voiceId: voice._id, fault }, 'a voice could not be cloned');
        outcome = { status: 'failed', error: fault, provider_voice_id: null };
      }
      await (outcome.provider_voice_id === null ? payment.release() : payment.settle());
      const changed = await this.#database
        .model(voiceCollection)
        .findOneAndUpdate({ _id: voice._id }, { $set: outcome }, { returnDocument: 'after' })
        .lean<VoiceRecord>();
      return changed ?? { ...voice, ...outcome };
    })().finally(() => this.#cloning--);
    this.#background.run('a voice clone could not be recorded', () => finished);
    return finished;
  }

  async #withinGrace(finished: Promise<VoiceRecord>, voice: VoiceRecord): Promise<VoiceRecord> {
    const late = Promise.withResolvers<VoiceRecord>();
    const timer = this.#clock.setTimeout(() => late.resolve(voice), this.#cloneGraceMs);
    try {
      return await Promise.race([finished, late.promise]);
    } finally {
      timer.cancel();
    }
  }
}
