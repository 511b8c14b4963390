import type { LocatedVoice, VoiceSource } from '../providers/model-catalog.ts';
import type { ProviderAccount } from '../providers/provider-accounts.ts';
import { libraryVoiceId, voicesOf } from '../providers/provider-voices.ts';
import type { ProviderName } from '@parley/shared/contracts/session-values';
import type { Database } from '../storage/database.ts';
import { LOCAL_VOICE } from './voice-catalog.ts';
import type { VoiceCatalog } from './voice-catalog.ts';
import { voiceCollection } from './voice-model.ts';
import type { VoiceRecord } from './voice-model.ts';

/** From what an agent names to what its provider is told. */
export class VoiceLookup implements VoiceSource {
  readonly #database: Database;
  readonly #catalog: VoiceCatalog;

  constructor({ database, catalog }: { database: Database; catalog: VoiceCatalog }) {
    this.#database = database;
    this.#catalog = catalog;
  }

  /** @inheritdoc */
  async locate(orgId: string, provider: ProviderName, voiceId: string): Promise<LocatedVoice | null> {
    if (provider === 'flite') {
      const { id, providerVoiceId } = LOCAL_VOICE;
      return voiceId === id || voiceId === providerVoiceId ? { providerVoiceId } : null;
    }
    if (!voicesOf(provider)) return null;
    const providerVoiceId = libraryVoiceId(provider, voiceId) ?? voiceId;
    // A clone may be named by the provider's id too. What others say of their own accounts counts for nothing here.
    const clones = await this.#database
      .model(voiceCollection)
      .find({
        $and: [
          { $or: [{ _id: voiceId }, { provider_voice_id: providerVoiceId }] },
          { $or: [{ org_id: orgId }, { credential_id: null }] },
        ],
      })
      .limit(20)
      .lean<VoiceRecord[]>();
    const clone = clones.find((one) => one.org_id === orgId) ?? clones[0];
    if (clone) {
      const visible = clone.org_id === orgId || clone.is_public;
      return visible && clone.status === 'ready' && clone.provider_voice_id !== null
        ? { providerVoiceId: clone.provider_voice_id, credentialId: clone.credential_id }
        : null;
    }
    const foreignForm = voiceId.startsWith('voc_') && providerVoiceId === voiceId;
    return foreignForm ? null : { providerVoiceId };
  }

  /** @inheritdoc */
  async isListed(account: ProviderAccount, voiceId: string): Promise<boolean> {
    if (libraryVoiceId(account.provider, voiceId) === undefined) return true;
    const known = await this.#catalog.of(account);
    return known === null || known.some((voice) => voice.id === voiceId);
  }
}
