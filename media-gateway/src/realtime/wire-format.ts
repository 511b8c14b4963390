import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';

/** Audio as the protocol names it. PCM is 24 kHz, mono, little-endian. */
export type WireFormat = { type: 'audio/pcm'; rate: 24000 } | { type: 'audio/pcmu' } | { type: 'audio/pcma' };

const PCM: WireFormat = { type: 'audio/pcm', rate: 24000 };
const PCMU: WireFormat = { type: 'audio/pcmu' };
const PCMA: WireFormat = { type: 'audio/pcma' };

/** Takes the form of the beta version too. @returns undefined for what is no format of the protocol */
export function parseWireFormat(value: unknown): WireFormat | undefined {
  const type = typeof value === 'object' && value !== null ? (value as { type?: unknown }).type : value;
  if (type === 'audio/pcm' || type === 'pcm16') return PCM;
  if (type === 'audio/pcmu' || type === 'g711_ulaw') return PCMU;
  if (type === 'audio/pcma' || type === 'g711_alaw') return PCMA;
  return undefined;
}

/** The formats a plan fixes, 24 kHz PCM where it fixes none. */
export function wireFormatsOf(plan: Pick<SessionPlan, 'audio'>): { input: WireFormat; output: WireFormat } {
  const toWire = { pcm16_24000: PCM, pcmu_8000: PCMU, pcma_8000: PCMA };
  return {
    input: toWire[plan.audio?.input_format ?? 'pcm16_24000'],
    output: toWire[plan.audio?.output_format ?? 'pcm16_24000'],
  };
}

export function toAudioFormat(format: WireFormat): AudioFormat {
  if (format.type === 'audio/pcm') return { encoding: 'pcm16', sampleRate: format.rate };
  return { encoding: format.type === 'audio/pcmu' ? 'pcmu' : 'pcma', sampleRate: 8000 };
}
