import { ConflictError } from '@parley/shared/errors/app-error';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import type { Clock } from '@parley/shared/time/clock';
import { invalid } from '../http/validation.ts';
import type { OpenModel, OrgModelCatalog } from '../providers/model-catalog.ts';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import type { Scope } from '../tenancy/scope.ts';
import { fetchPreview } from './voice-preview.ts';
import { isClone } from './voice-schema.ts';
import type { SpeakRequest, Voice } from './voice-schema.ts';
import type { SpokenAudio, VoiceSpeech } from './voice-speech.ts';

const PREVIEW_TEXT = 'Hello! This is how I sound. How can I help you today?';
const PREVIEW_KEPT_MS = 3_600_000;
const MAX_PREVIEWS = 50;

/** Who pays for what is spoken here. */
export interface SpeechPayment {
  /** Speaks, and books it. @throws PaymentRequiredError, what `speak` throws */
  pay<T>(speech: { orgId: string; ttsId: string; characters: number }, speak: () => Promise<T>): Promise<T>;
}

/** Lets voices be heard outside of calls: a text, or a preview that is kept for a while. */
export class VoiceAudition {
  readonly #models: OrgModelCatalog;
  readonly #speech: VoiceSpeech;
  readonly #fetch: SafeFetch;
  readonly #charges: SpeechPayment;
  readonly #previews: ExpiringCache<SpokenAudio>;

  constructor(deps: {
    models: OrgModelCatalog;
    speech: VoiceSpeech;
    fetch: SafeFetch;
    charges: SpeechPayment;
    clock: Clock;
  }) {
    this.#models = deps.models;
    this.#speech = deps.speech;
    this.#fetch = deps.fetch;
    this.#charges = deps.charges;
    this.#previews = new ExpiringCache({
      clock: deps.clock,
      ttlMs: PREVIEW_KEPT_MS,
      maxEntries: MAX_PREVIEWS,
    });
  }

  /** @throws ConflictError `invalid_state`, PaymentRequiredError, ValidationError, ProviderFailure */
  async speak(scope: Scope, voice: Voice, request: SpeakRequest, signal: AbortSignal): Promise<SpokenAudio> {
    return this.#speak(scope, await this.#open(scope, voice), request, signal);
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

  /** What is spoken on an account of the installation is booked. */
  #speak(scope: Scope, opened: OpenModel, request: SpeakRequest, signal: AbortSignal): Promise<SpokenAudio> {
    const { model, account } = opened;
    const speak = () => this.#speech.speak(opened, request, signal);
    if (account?.credentialId !== null || model.orgId !== null) return speak();
    const speech = { orgId: scope.orgId, ttsId: model.id, characters: request.text.length };
    return this.#charges.pay(speech, speak);
  }

  async #generatedPreview(scope: Scope | null, voice: Voice, signal: AbortSignal): Promise<SpokenAudio> {
    if (!scope) throw invalid(['query', 'org_id'], 'org_id or project_id is required', 'missing');
    const key = isClone(voice) ? `${voice._id} ${voice.provider_voice_id}` : `${scope.orgId} ${voice.id}`;
    const opened = await this.#open(scope, voice);
    return this.#previews.get(key, () =>
      this.#speak(
        scope,
        opened,
        { text: PREVIEW_TEXT, language: undefined, speed: undefined, format: 'wav' },
        signal,
      ),
    );
  }
}
