import type { z } from 'zod';
import { ConflictError, ForbiddenError, NotFoundError } from '@parley/shared/errors/app-error';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import type { Clock } from '@parley/shared/time/clock';
import type { NamingRecords } from '../providers/own-model-service.ts';
import type { ProviderAccounts } from '../providers/provider-accounts.ts';
import type { Database } from '../storage/database.ts';
import type { UserPrincipal } from '../tenancy/principal.ts';
import { roleAtLeast } from '../tenancy/roles.ts';
import type { Scope } from '../tenancy/scope.ts';
import { voicesOf } from '../providers/provider-voices.ts';
import { currentClone } from './clone-state.ts';
import { voiceCollection } from './voice-model.ts';
import type { VoiceRecord } from './voice-model.ts';
import type { patchVoiceRequest } from './voice-schema.ts';

/** Of the installation. */
const MAX_PUBLIC = 500;

/** Changes and deletes clones, for those who may. */
export class CloneEditor {
  readonly #database: Database;
  readonly #accounts: ProviderAccounts;
  readonly #fetch: SafeFetch;
  readonly #naming: NamingRecords;
  readonly #clock: Clock;

  constructor(deps: {
    database: Database;
    accounts: ProviderAccounts;
    fetch: SafeFetch;
    naming: NamingRecords;
    clock: Clock;
  }) {
    this.#database = deps.database;
    this.#accounts = deps.accounts;
    this.#fetch = deps.fetch;
    this.#naming = deps.naming;
    this.#clock = deps.clock;
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
    return currentClone(changed, this.#clock);
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
      if (account) await voicesOf(account.provider)?.clones?.delete(account, this.#fetch, providerVoiceId);
    }
    await scope.collection(voiceCollection).delete({ _id: voice._id });
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
}
