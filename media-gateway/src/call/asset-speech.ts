import type { PlanAsset } from '@parley/shared/contracts/audio-assets';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Clock } from '@parley/shared/time/clock';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { UtteranceEnd } from '../speech/agent-utterance.ts';
import type { RecordedSpeech } from '../speech/recorded-speech.ts';
import { AUDIO_PATIENCE_MS, WORDLESS } from './greeting.ts';

/** Says texts of which an audio asset is what they sound like. */
export class AssetSpeech {
  readonly #plan: SessionPlan;
  readonly #clock: Clock;
  readonly #speech: AgentSpeech;
  readonly #loadAudio: (assetId: string, asset: PlanAsset) => Promise<RecordedSpeech>;
  readonly #emit: Emit;

  constructor(deps: {
    plan: SessionPlan;
    clock: Clock;
    speech: AgentSpeech;
    /** Rejects when an asset cannot be had. */
    loadAudio: (assetId: string, asset: PlanAsset) => Promise<RecordedSpeech>;
    emit: Emit;
  }) {
    this.#plan = deps.plan;
    this.#clock = deps.clock;
    this.#speech = deps.speech;
    this.#loadAudio = deps.loadAudio;
    this.#emit = deps.emit;
  }

  /**
   * Plays an asset in place of the present utterance. A voice says the text where the asset cannot be had in time. Never rejects.
   * @param text empty: what is known to be said in the asset
   * @param isDue whether it is still to be said when the audio is there
   * @returns how it ended; undefined: nothing was said
   */
  async say(
    assetId: string,
    text: string,
    interruptible: boolean,
    isDue: () => boolean,
  ): Promise<UtteranceEnd['status'] | undefined> {
    const asset = this.#plan.assets[assetId];
    const spoken = text || asset?.transcript || '';
    const recorded = this.#plan.text_only ? undefined : await this.#timely(assetId, asset);
    if (!isDue()) return undefined;
    if (!recorded && !this.#plan.text_only) this.#emit('warning', { code: 'node_audio_unavailable' });
    const words = recorded ? (asset?.transcript ?? (text || WORDLESS)) : spoken;
    if (words === '') return undefined;
    const utterance = this.#speech.say(words, 'say', {
      interruptible,
      ...(recorded ? { recorded } : { keep: true }),
    });
    return (await utterance.done).status;
  }

  async #timely(assetId: string, asset: PlanAsset | undefined): Promise<RecordedSpeech | undefined> {
    // One that is not ready, or was deleted, is not in the plan.
    if (!asset) return undefined;
    const late = Promise.withResolvers<undefined>();
    const timer = this.#clock.setTimeout(() => late.resolve(undefined), AUDIO_PATIENCE_MS);
    try {
      return await Promise.race([this.#loadAudio(assetId, asset), late.promise]);
    } catch {
      return undefined;
    } finally {
      timer.cancel();
    }
  }
}
