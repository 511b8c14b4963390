import type { PlanAsset } from '@parley/shared/contracts/audio-assets';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import { pcm16FromBytes } from '@parley/shared/audio/audio-frame';
import { loopOf } from '@parley/shared/audio/mixer';
import type { Participant } from '../participants/participant.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import type { BackgroundBed } from '../speech/background-bed.ts';
import type { RecordedSpeech } from '../speech/recorded-speech.ts';

interface Wanted {
  assetId: string;
  volume: number;
}

/** What the caller hears beside the agent: its background audio, or hold audio in the place of that. */
export class BackgroundAudio {
  readonly #plan: SessionPlan;
  readonly #participant: Pick<Participant, 'ambience' | 'outputFormat'>;
  readonly #bed: Pick<BackgroundBed, 'play'>;
  readonly #loadAudio: (assetId: string, asset: PlanAsset) => Promise<RecordedSpeech>;
  readonly #emit: Emit;
  /** The audio that is to be heard now; what was loaded for another one comes too late. */
  #wanted: Wanted | undefined;
  #held: Wanted | undefined;
  #over = false;

  constructor(deps: {
    /** The plan of the call, not a copy: another agent has another background. */
    plan: SessionPlan;
    participant: Pick<Participant, 'ambience' | 'outputFormat'>;
    bed: Pick<BackgroundBed, 'play'>;
    /** Rejects when an asset cannot be had. */
    loadAudio: (assetId: string, asset: PlanAsset) => Promise<RecordedSpeech>;
    emit: Emit;
  }) {
    this.#plan = deps.plan;
    this.#participant = deps.participant;
    this.#bed = deps.bed;
    this.#loadAudio = deps.loadAudio;
    this.#emit = deps.emit;
  }

  /** Begins the background of the agent, or goes on with that of another agent. */
  begin(): void {
    void this.#play();
  }

  /**
   * Plays an asset of the plan over and over, as loud as it is, in place of the background.
   * @returns what ends that: the background goes on; calling it twice is harmless
   */
  hold(assetId: string): () => void {
    const held = { assetId, volume: 1 };
    this.#held = held;
    void this.#play();
    return () => {
      if (this.#held !== held) return;
      this.#held = undefined;
      void this.#play();
    };
  }

  /** Ends it for good. */
  stop(): void {
    this.#over = true;
    this.#wanted = undefined;
    this.#bed.play(undefined);
  }

  async #play(): Promise<void> {
    if (this.#over || !this.#participant.ambience || this.#plan.text_only) return;
    const wanted = this.#held ?? this.#background;
    if (wanted?.assetId === this.#wanted?.assetId && wanted?.volume === this.#wanted?.volume) return;
    this.#wanted = wanted;
    this.#bed.play(undefined);
    if (!wanted) return;
    const asset = this.#plan.assets[wanted.assetId];
    try {
      // One that is not ready, or was deleted, is not in the plan.
      if (!asset) throw new Error('not ready');
      const { samples, sampleRate } = await this.#loadAudio(wanted.assetId, asset);
      if (this.#wanted !== wanted) return;
      if (sampleRate !== this.#participant.outputFormat.sampleRate) throw new Error('another sample rate');
      this.#bed.play(loopOf(pcm16FromBytes(samples), wanted.volume));
    } catch {
      if (this.#wanted === wanted) this.#emit('warning', { code: 'background_audio_unavailable' });
    }
  }

  get #background(): Wanted | undefined {
    const { audio_asset_id: assetId, volume } = this.#plan.agent.config.background_audio;
    return assetId === null || volume === 0 ? undefined : { assetId, volume };
  }
}
