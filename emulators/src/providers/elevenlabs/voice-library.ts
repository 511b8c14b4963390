import { randomBytes } from 'node:crypto';
import * as z from 'zod';

/** Wire form; what the emulator has no use for stays empty. */
export interface Voice {
  voice_id: string;
  name: string;
  category: 'premade' | 'cloned';
  labels: Record<string, string>;
  description: string | null;
  preview_url: string | null;
  settings: VoiceSettings;
  samples: { sample_id: string; file_name: string; mime_type: string; size_bytes: number; hash: string }[];
  available_for_tiers: string[];
  high_quality_base_model_ids: string[];
  verified_languages: object[];
  voice_verification: object;
  sharing: null;
  is_owner: boolean;
  created_at_unix: number | null;
}

export const voiceSettings = z.object({
  stability: z.number().min(0).max(1).optional(),
  similarity_boost: z.number().min(0).max(1).optional(),
  style: z.number().min(0).max(1).optional(),
  use_speaker_boost: z.boolean().optional(),
  speed: z.number().min(0.7).max(1.2).optional(),
});
export type VoiceSettings = z.infer<typeof voiceSettings>;

const DEFAULT_SETTINGS: VoiceSettings = {
  stability: 0.5,
  similarity_boost: 0.75,
  style: 0,
  use_speaker_boost: true,
  speed: 1,
};
const DESCRIPTION = 'Emulated by Parley: every voice sounds the same.';
const PREMADE: readonly (readonly [id: string, name: string])[] = [
  ['21m00Tcm4TlvDq8ikWAM', 'Rachel'],
  ['EXAVITQu4vr4xnSDxMaL', 'Sarah'],
  ['JBFqnCBsd6RMkjVDRZzb', 'George'],
  ['TX3LPaxmHKxFdv7VOQHJ', 'Liam'],
  ['XB0fDUnXU5powFXDhCwa', 'Charlotte'],
  ['pNInz6obpgDQGcFmaJgB', 'Adam'],
];
const MAX_VOICES = 1000;

/** All models say that they are emulated; the names are the vendor's. */
export const MODELS = [
  ['eleven_flash_v2_5', 'Eleven Flash v2.5', 40_000],
  ['eleven_turbo_v2_5', 'Eleven Turbo v2.5', 40_000],
  ['eleven_flash_v2', 'Eleven Flash v2', 30_000],
  ['eleven_turbo_v2', 'Eleven Turbo v2', 30_000],
  ['eleven_multilingual_v2', 'Eleven Multilingual v2', 10_000],
].map(([id, name, characters]) => ({
  model_id: String(id),
  name: `${name} (Parley emulator)`,
  can_do_text_to_speech: true,
  can_do_voice_conversion: false,
  maximum_text_length_per_request: Number(characters),
  languages: [{ language_id: 'en', name: 'English' }],
}));

/** What models of v2.5 take as `language_code`, as the vendor lists them. */
export const LANGUAGE_CODES: ReadonlySet<string> = new Set(
  'ar bg cs da de el en es fi fil fr hi hr hu id it ja ko ms nl no pl pt ro ru sk sv ta tr uk vi zh'.split(
    ' ',
  ),
);

/** The voices of one account, in memory. */
export class VoiceLibrary {
  readonly #voices = new Map<string, Voice>();

  /** @param more ids to know besides the premade ones */
  constructor(more: readonly string[]) {
    for (const [id, name] of [...PREMADE, ...more.map((id) => [id, id] as const)]) {
      this.#voices.set(id, newVoice(id, name, 'premade', null));
    }
  }

  get all(): Voice[] {
    return [...this.#voices.values()];
  }

  get(id: string): Voice | undefined {
    return this.#voices.get(id);
  }

  /** @returns undefined when the account is full */
  add(options: {
    name: string;
    description: string | undefined;
    labels: Record<string, string>;
    files: readonly File[];
    nowMs: number;
  }): Voice | undefined {
    if (this.#voices.size >= MAX_VOICES) return undefined;
    const voice = newVoice(newVoiceId(), options.name, 'cloned', Math.floor(options.nowMs / 1000));
    voice.labels = options.labels;
    if (options.description !== undefined) voice.description = options.description;
    voice.samples = options.files.map((file) => ({
      sample_id: newVoiceId(),
      file_name: file.name,
      mime_type: file.type,
      size_bytes: file.size,
      hash: '',
    }));
    this.#voices.set(voice.voice_id, voice);
    return voice;
  }

  delete(id: string): boolean {
    return this.#voices.delete(id);
  }
}

function newVoice(id: string, name: string, category: Voice['category'], createdAt: number | null): Voice {
  return {
    voice_id: id,
    name,
    category,
    labels: {},
    description: DESCRIPTION,
    preview_url: null,
    settings: { ...DEFAULT_SETTINGS },
    samples: [],
    available_for_tiers: [],
    high_quality_base_model_ids: [],
    verified_languages: [],
    voice_verification: {},
    sharing: null,
    is_owner: category === 'cloned',
    created_at_unix: createdAt,
  };
}

/** Twenty characters, as the vendor's. */
function newVoiceId(): string {
  return randomBytes(15).toString('base64url');
}
