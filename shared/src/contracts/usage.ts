import { z } from 'zod';

const modelQuantities = {
  stt_seconds: z.number(),
  llm_input_tokens: z.number().int(),
  llm_output_tokens: z.number().int(),
  tts_characters: z.number().int(),
};

/** What one model was used for; what it is not for is 0. */
export const modelUsageSchema = z.object({
  model_id: z.string(),
  /** The provider's own id (TTS). */
  voice: z.string().optional(),
  ...modelQuantities,
});
export type ModelUsage = z.infer<typeof modelUsageSchema>;

export const usageSchema = z.object({
  ...modelQuantities,
  carrier_seconds: z.number(),
  /** The same by model; absent: nothing was used, or an earlier version has counted it. */
  models: z.array(modelUsageSchema).optional(),
});
export type Usage = z.infer<typeof usageSchema>;
