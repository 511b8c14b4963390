import type { z } from 'zod';
import {
  ConflictError,
  ForbiddenError,
  NotFoundError,
  TooManyRequestsError,
  ValidationError,
} from '@parley/shared/errors/app-error';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import { newId } from '@parley/shared/ids/new-id';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { commonFilter, equalities } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import type { BackgroundWork } from '../lifecycle/background-work.ts';
import { coversLanguage } from '../providers/model-catalog.ts';
import type { OpenModel, OrgModelCatalog } from '../providers/model-catalog.ts';
import type { NamingRecords } from '../providers/own-model-service.ts';
import type { ProviderAccount, ProviderAccounts } from '../providers/provider-accounts.ts';
import type { Database } from '../storage/database.ts';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import { TOTAL_LIMIT } from '../storage/list.ts';
import type { ListPage } from '../storage/list.ts';
import { compareBy } from '../storage/memory-page.ts';
import type { UserPrincipal } from '../tenancy/principal.ts';
import { referenceNotFound } from '../tenancy/references.ts';
import { roleAtLeast } from '../tenancy/roles.ts';
import type { Filter, Scope } from '../tenancy/scope.ts';
import { cloneElevenLabs, deleteElevenLabs, fetchPreview, ProviderFailure } from './elevenlabs-api.ts';
import { elevenLabsVoiceId, LOCAL_VOICE } from './voice-catalog.ts';
import type { CatalogVoice, VoiceCatalog } from './voice-catalog.ts';
import { voiceCollection } from './voice-model.ts';
import type { VoiceRecord } from './voice-model.ts';
import { isClone } from './voice-schema.ts';
import type {
  cloneVoiceRequest,
  patchVoiceRequest,
  SpeakRequest,
  Voice,
  VoiceQuery,
} from './voice-schema.ts';
import type { SpokenAudio, VoiceSpeech } from './voice-speech.ts';

/** Whose eyes voices are seen with. */
export interface VoiceViewer {
  /** The org whose accounts and clones count; null = the installation's alone. */
  orgId: string | null;
  projectId: string | null;
  /** Orgs whose clones may be seen one by one. */
  memberOf: readonly string[];
}

const PREVIEW_TEXT = 'Hello! This is how I sound. How can I help you today?';
const PREVIEW_KEPT_MS = 3_600_000;
const MAX_PREVIEWS = 50;
/** How long a request waits for its clone before it is told that it is being made. */
const CLONE_GRACE_MS = 2000;
/** Past any answer of the provider: whoever was making the clone is gone. */
const CLONE_ABANDONED_MS = 10 * 60_000;
/** Each holds its recordings in memory. */
const MAX_CLONES_AT_ONCE = 4;
const MAX_CLONES_PER_ORG = 200;
/** Of the installation. */
const MAX_PUBLIC = 500;

/** The voices that agents can speak with: those of the providers, and clones. */
export class VoiceService {
  readonly #database: Database;
  readonly #models: OrgModelCatalog;
  readonly #accounts: ProviderAccounts;
  readonly #catalog: VoiceCatalog;
  readonly #speech: VoiceSpeech;
  readonly #fetch: SafeFetch;
  readonly #naming: NamingRecords;
  readonly #background: BackgroundWork;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #cloneGraceMs: number;
  readonly #previews: ExpiringCache<SpokenAudio>;
  readonly #stopping = new AbortController();
  #cloning = 0;

  constructor(deps: {
    database: Database;
    models: OrgModelCatalog;
    accounts: ProviderAccounts;
    catalog: VoiceCatalog;
    /** Owned. */
    speech: VoiceSpeech;
    fetch: SafeFetch;
    naming: NamingRecords;
    background: BackgroundWork;
    clock: Clock;
    logger: Logger;
    cloneGraceMs?: number;
  }) {
    this.#database = deps.database;
    this.#models = deps.models;
    this.#accounts = deps.accounts;
    this.#catalog = deps.catalog;
    this.#speech = deps.speech;
    this.#fetch = deps.fetch;
    this.#naming = deps.naming;
    this.#background = deps.background;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#cloneGraceMs = deps.cloneGraceMs ?? CLONE_GRACE_MS;
    this.#previews = new ExpiringCache({
      clock: deps.clock,
      ttlMs: PREVIEW_KEPT_MS,
      maxEntries: MAX_PREVIEWS,
    });
  }

  /** Catalogue and clones in one order. */
  async list(viewer: VoiceViewer, query: VoiceQuery): Promise<ListPage<Voice>> {
    const catalogue = matching(await this.#catalogueOf(viewer), query);
    const compare = compareBy<Voice>(query.sort, sortValue, idOf);
    // At most the whole catalogue stands before a clone: so many clones less than the offset can be passed over.
    const skipped = Math.max(0, query.offset - catalogue.length);
    const before = query.offset - skipped;
    const clones = await this.#clones(viewer, query, { skip: skipped, limit: before + query.limit });
    const merged = [...catalogue, ...clones.items].sort(compare);
    const total = catalogue.length + clones.total;
    return {
      items: merged.slice(before, before + query.limit),
      total: Math.min(total, TOTAL_LIMIT),
      ...(total > TOTAL_LIMIT && { total_capped: true as const }),
    };
  }

  /** @throws NotFoundError for what is absent and for what is not shown, alike */
  async find(viewer: VoiceViewer, id: string): Promise<Voice> {
    if (id === LOCAL_VOICE.id) return LOCAL_VOICE;
    if (elevenLabsVoiceId(id) !== undefined) {
      const voice = (await this.#catalogueOf(viewer)).find((one) => one.id === id);
      if (!voice) throw new NotFoundError();
      return voice;
    }
    const clone = await this.#database.model(voiceCollection).findOne({ _id: id }).lean<VoiceRecord>();
    if (!clone || !(viewer.memberOf.includes(clone.org_id) || isShown(clone))) throw new NotFoundError();
    return this.#current(clone);
  }

  /** @throws ConflictError `invalid_state`, ValidationError, ProviderFailure */
  async speak(scope: Scope, voice: Voice, request: SpeakRequest, signal: AbortSignal): Promise<SpokenAudio> {
    return this.#speech.speak(await this.#open(scope, voice), request, signal);
  }

  /**
   * The provider's own recording, or one that is made for the purpose.
   * @param scope who pays for it; null = nobody does
   * @throws ValidationError when one would have to be made and there is no `scope`
   */
  preview(scope: Scope | null, voice: Voice, signal: AbortSignal): Promise<SpokenAudio> {
    if (isClone(voice) || voice.previewUrl === null) return this.#generatedPreview(scope, voice, signal);
    const { previewUrl } = voice;
    return this.#previews.get(`url ${previewUrl}`, async () => {
      const bytes = await fetchPreview(this.#fetch, previewUrl, signal);
      return bytes
        ? {
            bytes,
            contentType: bytes.subarray(0, 4).toString('latin1') === 'RIFF' ? 'audio/wav' : 'audio/mpeg',
          }
        : this.#generatedPreview(scope, voice, signal);
    });
  }

  /** @returns the voice, ready or still being made. @throws ProviderFailure when the provider refuses at once */
  async clone(
    scope: Scope,
    caller: UserPrincipal,
    request: z.output<typeof cloneVoiceRequest>,
  ): Promise<VoiceRecord> {
    const account = await this.#cloningAccount(scope, request.tts_id);
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
    try {
      voice = await voices.insert({
        _id: newId('voc', this.#clock.now()),
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
      throw error;
    }
    const answer = await this.#withinGrace(this.#make(voice, account, request.files), voice);
    if (answer.status !== 'failed' || answer.provider_voice_id !== null) return answer;
    await voices.delete({ _id: voice._id });
    throw new ProviderFailure(answer.error as ProviderFailure['fault']);
  }

  /** @throws ForbiddenError; ConflictError for a voice that can't be shown to all */
  async update(
    scope: Scope,
    caller: UserPrincipal,
    voice: VoiceRecord,
    request: z.output<typeof patchVoiceRequest>,
  ): Promise<VoiceRecord> {
    this.#checkMayChange(scope, caller, voice);
    const { name, is_public: isPublic } = request;
    if (isPublic !== undefined && isPublic !== voice.is_public) {
      if (!roleAtLeast(scope.role, 'admin')) {
        throw new ForbiddenError('role_too_low', 'Changing is_public requires the role admin.');
      }
      if (isPublic && voice.credential_id !== null) {
        throw new ConflictError(
          'invalid_state',
          'The voice belongs to the org’s own provider account and cannot be made public.',
        );
      }
      if (isPublic && voice.status !== 'ready') {
        throw new ConflictError('invalid_state', 'The voice clone is not ready.');
      }
      if (isPublic) await this.#checkPublicRoom();
    }
    const changed = await scope.collection(voiceCollection).update(
      { _id: voice._id },
      {
        $set: {
          ...(name === undefined ? {} : { name }),
          ...(isPublic === undefined ? {} : { is_public: isPublic }),
        },
      },
    );
    if (!changed) throw new NotFoundError();
    return this.#current(changed);
  }

  /** Here and at its provider. @throws ConflictError `resource_in_use`, `invalid_state`; ProviderFailure */
  async delete(scope: Scope, caller: UserPrincipal, voice: VoiceRecord): Promise<void> {
    this.#checkMayChange(scope, caller, voice);
    const { provider_voice_id: providerVoiceId, credential_id: credentialId } = voice;
    if (voice.status === 'processing') {
      throw new ConflictError(
        'invalid_state',
        'The voice clone is still being created. Retry in a few seconds.',
      );
    }
    const ids = providerVoiceId === null ? [voice._id] : [voice._id, providerVoiceId];
    const refs = await this.#naming(scope.orgId, ids);
    if (refs.length > 0)
      throw new ConflictError('resource_in_use', 'The voice is in use: see refs.', { refs });
    if (providerVoiceId !== null) {
      const account =
        credentialId === null
          ? this.#accounts.installation(voice.provider)
          : await this.#accounts.byCredential(scope.orgId, credentialId, null);
      // Without the account nothing of the voice can be reached any more.
      if (account) await deleteElevenLabs(account, this.#fetch, providerVoiceId);
    }
    await scope.collection(voiceCollection).delete({ _id: voice._id });
  }

  /** Gives up what is being made. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort(new Error('The service is stopping. Retry in a few seconds.'));
    await this.#speech[Symbol.asyncDispose]();
  }

  async #catalogueOf({ orgId, projectId }: VoiceViewer): Promise<CatalogVoice[]> {
    const account = await this.#accounts.choose(orgId, 'elevenlabs', projectId);
    const listed = account ? ((await this.#catalog.ofElevenLabs(account)) ?? []) : [];
    if (!account || account.credentialId === null || orgId === null) return [LOCAL_VOICE, ...listed];
    // In the org's own account its clones are listed too; they have records of their own.
    const clones = await this.#database
      .model(voiceCollection)
      .find({ org_id: orgId, provider_voice_id: { $ne: null } })
      .limit(MAX_CLONES_PER_ORG)
      .lean<VoiceRecord[]>();
    const known = new Set(clones.map((clone) => clone.provider_voice_id));
    return [LOCAL_VOICE, ...listed.filter((voice) => !known.has(voice.providerVoiceId))];
  }

  async #clones(
    { orgId }: VoiceViewer,
    query: VoiceQuery,
    page: { skip: number; limit: number },
  ): Promise<{ items: VoiceRecord[]; total: number }> {
    // Nobody has said what a clone sounds like.
    if ((query.source && !query.source.includes('clone')) || query.gender) return { items: [], total: 0 };
    const filter: Filter<VoiceRecord> = {
      $and: [
        seenBy(orgId, query.is_public),
        commonFilter(query),
        equalities({ tts_id: query.tts_id, provider: query.provider }),
        ...(query.language
          ? [{ $or: query.language.map((tag) => ({ languages: languagePattern(tag) })) }]
          : []),
      ],
    };
    const model = this.#database.model(voiceCollection);
    const direction = query.sort.startsWith('-') ? -1 : 1;
    const [items, total] = await Promise.all([
      model
        .find(filter)
        .sort({ [query.sort.replace(/^-/, '')]: direction, _id: direction })
        .skip(page.skip)
        .limit(page.limit)
        .lean<VoiceRecord[]>(),
      model.countDocuments(filter, { limit: TOTAL_LIMIT + 1 }),
    ]);
    return { items: items.map((clone) => this.#current(clone)), total };
  }

  async #open(scope: Scope, voice: Voice): Promise<OpenModel> {
    if (isClone(voice) && voice.status !== 'ready') {
      throw new ConflictError('invalid_state', 'The voice clone is not ready.');
    }
    const [ttsId, id] = isClone(voice) ? [voice.tts_id, voice._id] : [voice.ttsId, voice.id];
    const opened = await this.#models.open(scope.orgId, ttsId, {
      voice: id,
      projectId: scope.projectIdOrNull,
    });
    if (!opened)
      throw new ConflictError(
        'invalid_state',
        'The model of this voice has no credentials in this org or is disabled.',
      );
    return opened;
  }

  async #generatedPreview(scope: Scope | null, voice: Voice, signal: AbortSignal): Promise<SpokenAudio> {
    if (!scope) throw invalid(['query', 'org_id'], 'org_id or project_id is required', 'missing');
    const key = isClone(voice) ? `${voice._id} ${voice.provider_voice_id}` : `${scope.orgId} ${voice.id}`;
    const opened = await this.#open(scope, voice);
    return this.#previews.get(key, () =>
      this.#speech.speak(
        opened,
        { text: PREVIEW_TEXT, language: undefined, speed: undefined, format: 'wav' },
        signal,
      ),
    );
  }

  async #cloningAccount(scope: Scope, ttsId: string): Promise<ProviderAccount> {
    const loc = ['body', 'tts_id'];
    const model = await this.#models.find(scope.orgId, ttsId);
    if (model?.kind !== 'tts') throw new ValidationError([referenceNotFound(loc)]);
    if (model.provider !== 'elevenlabs')
      throw invalid(loc, 'is a model without voice cloning: use a model of elevenlabs', 'not_available');
    const account = (await this.#models.open(scope.orgId, ttsId, {}))?.account;
    if (!account)
      throw invalid(loc, 'is a model without credentials, or one that is disabled', 'not_available');
    return account;
  }

  /** Gives the voice to its provider and notes what became of it. Goes on when its request has been answered. */
  #make(voice: VoiceRecord, account: ProviderAccount, files: File[]): Promise<VoiceRecord> {
    const finished = (async () => {
      let outcome: Pick<VoiceRecord, 'status' | 'error' | 'provider_voice_id'>;
      try {
        const { name } = voice;
        const made = await cloneElevenLabs(account, this.#fetch, { name, files }, this.#stopping.signal);
        outcome = made.needsVerification
          ? { status: 'failed', error: 'verification_required', provider_voice_id: made.voiceId }
          : { status: 'ready', error: null, provider_voice_id: made.voiceId };
      } catch (error) {
        const fault = error instanceof ProviderFailure ? error.fault : 'unavailable';
        this.#logger.warn({ voiceId: voice._id, fault }, 'a voice could not be cloned');
        outcome = { status: 'failed', error: fault, provider_voice_id: null };
      }
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

  #checkMayChange(scope: Scope, caller: UserPrincipal, voice: VoiceRecord): void {
    if (voice.owner_user_id === caller.user_id || roleAtLeast(scope.role, 'admin')) return;
    throw new ForbiddenError(
      'forbidden',
      'Only the owner of a voice clone and admins of its org can change it.',
    );
  }

  /** All see them, in every list. @throws ConflictError `limit_reached` */
  async #checkPublicRoom(): Promise<void> {
    const shown = await this.#database
      .model(voiceCollection)
      .countDocuments({ is_public: true }, { limit: MAX_PUBLIC });
    if (shown < MAX_PUBLIC) return;
    throw new ConflictError('limit_reached', `Limit of public voices reached (${MAX_PUBLIC}).`);
  }

  /** A process that died takes the clones with it that it was making. */
  #current(voice: VoiceRecord): VoiceRecord {
    const abandoned = this.#clock.now() - voice.updated_at.getTime() > CLONE_ABANDONED_MS;
    return voice.status === 'processing' && abandoned
      ? { ...voice, status: 'failed', error: 'interrupted' }
      : voice;
  }
}

/** Never by `is_public: false` alone: those of all orgs are very many. */
function seenBy(orgId: string | null, isPublic: boolean | undefined): Filter<VoiceRecord> {
  const shown = { is_public: true, status: 'ready' } as const;
  if (orgId === null) return isPublic === false ? { _id: { $in: [] } } : shown;
  if (isPublic === false) return { org_id: orgId, is_public: false };
  return { $or: [{ org_id: orgId, ...(isPublic && { is_public: true }) }, shown] };
}

function isShown({ is_public, status }: VoiceRecord): boolean {
  return is_public && status === 'ready';
}

function idOf(voice: Voice): string {
  return isClone(voice) ? voice._id : voice.id;
}

function sortValue(voice: Voice, field: string): string | number {
  if (field === 'name') return voice.name;
  if (!isClone(voice)) return voice.createdAt?.getTime() ?? 0;
  return voice[field as 'created_at' | 'updated_at'].getTime();
}

function matching(catalogue: readonly CatalogVoice[], query: VoiceQuery): CatalogVoice[] {
  const { created_after: after, created_before: before, q, tts_id, provider, language, gender } = query;
  if (query.source && !query.source.includes('catalog')) return [];
  return catalogue.filter(
    (voice) =>
      (!tts_id || tts_id.includes(voice.ttsId)) &&
      (!provider || provider.includes(voice.provider)) &&
      (!language || language.some((tag) => coversLanguage(voice.languages, tag))) &&
      (!gender || (voice.gender !== null && gender.includes(voice.gender))) &&
      (query.is_public === undefined || query.is_public === voice.isPublic) &&
      (q === undefined || voice.name.toLowerCase().includes(q.toLowerCase())) &&
      (!after || (voice.createdAt !== null && voice.createdAt >= after)) &&
      (!before || (voice.createdAt !== null && voice.createdAt < before)),
  );
}

/** As `coversLanguage`, for the database. */
function languagePattern(tag: string) {
  const parts = tag.split('-');
  const wider = parts.map((_, index) => parts.slice(0, index + 1).join('-'));
  return { $regex: `^(?:\\*|${wider.join('|')})$|^${tag}-`, $options: 'i' };
}
