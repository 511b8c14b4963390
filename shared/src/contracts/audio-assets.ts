import { z } from 'zod';

/** Rates at which an asset is kept for calls, in Hz: PCM16, one channel. */
export const ASSET_RATES = [8000, 16_000, 48_000] as const;
export type AssetRate = (typeof ASSET_RATES)[number];

/** The longest asset. */
export const MAX_ASSET_SECONDS = 600;

/** An audio asset that a call may play; its samples are at `INTERNAL_PATHS.audioAsset`. */
export const planAssetSchema = z.object({
  /** Of the upload, hex: what has the same sounds the same. */
  sha256: z.string(),
  duration_ms: z.number().int(),
  /** What is said in it; null: not known. */
  transcript: z.string().nullable(),
});
export type PlanAsset = z.output<typeof planAssetSchema>;
