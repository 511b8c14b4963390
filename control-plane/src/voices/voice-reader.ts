import { NotFoundError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import { commonFilter, equalities } from '../http/list-query.ts';
import { coversLanguage } from '../providers/model-catalog.ts';
import type { ProviderAccounts } from '../providers/provider-accounts.ts';
import type { Database } from '../storage/database.ts';
import { TOTAL_LIMIT } from '../storage/list.ts';
import type { ListPage } from '../storage/list.ts';
import { compareBy } from '../storage/memory-page.ts';
import type { Filter } from '../tenancy/scope.ts';
import type { ProviderName } from '@parley/shared/contracts/session-values';
import { isLibraryVoice, VOICE_PROVIDERS, type CatalogVoice } from '../providers/provider-voices.ts';
import { currentClone, MAX_CLONES_PER_ORG } from './clone-state.ts';
import { LOCAL_VOICE } from './voice-catalog.ts';
import type { VoiceCatalog } from './voice-catalog.ts';
import { voiceCollection } from './voice-model.ts';
import type { VoiceRecord } from './voice-model.ts';
import { isClone } from './voice-schema.ts';
import type { Voice, VoiceQuery } from './voice-schema.ts';

/** Whose eyes voices are seen with. */
export interface VoiceViewer {
  /** The org whose accounts and clones count; null = the installation's alone. */
  orgId: string | null;
  projectId: string | null;
  /** Orgs whose clones may be seen one by one. */
  memberOf: readonly string[];
}

/** The voices that agents can speak with: those of the providers, and clones. */
export class VoiceReader {
  readonly #database: Database;
  readonly #accounts: ProviderAccounts;
  readonly #catalog: VoiceCatalog;
  readonly #clock: Clock;

  constructor(deps: { database: Database; accounts: ProviderAccounts; catalog: VoiceCatalog; clock: Clock }) {
    this.#database = deps.database;
    this.#accounts = deps.accounts;
    this.#catalog = deps.catalog;
    this.#clock = deps.clock;
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
    if (isLibraryVoice(id)) {
      const voice = (await this.#catalogueOf(viewer)).find((one) => one.id === id);
      if (!voice) throw new NotFoundError();
      return voice;
    }
    const clone = await this.#database.model(voiceCollection).findOne({ _id: id }).lean<VoiceRecord>();
    if (!clone || !(viewer.memberOf.includes(clone.org_id) || isShown(clone))) throw new NotFoundError();
    return currentClone(clone, this.#clock);
  }

  async #catalogueOf(viewer: VoiceViewer): Promise<CatalogVoice[]> {
    const listed = await Promise.all(VOICE_PROVIDERS.map((provider) => this.#listedAt(provider, viewer)));
    return [LOCAL_VOICE, ...listed.flat()];
  }

  async #listedAt(provider: ProviderName, { orgId, projectId }: VoiceViewer): Promise<CatalogVoice[]> {
    const account = await this.#accounts.choose(orgId, provider, projectId);
    const listed = account ? ((await this.#catalog.of(account)) ?? []) : [];
    if (!account || account.credentialId === null || orgId === null) return listed;
    // In the org's own account its clones are listed too; they have records of their own.
    const clones = await this.#database
      .model(voiceCollection)
      .find({ org_id: orgId, provider_voice_id: { $ne: null } })
      .limit(MAX_CLONES_PER_ORG)
      .lean<VoiceRecord[]>();
    const known = new Set(clones.map((clone) => clone.provider_voice_id));
    return listed.filter((voice) => !known.has(voice.providerVoiceId));
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
    return { items: items.map((clone) => currentClone(clone, this.#clock)), total };
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
