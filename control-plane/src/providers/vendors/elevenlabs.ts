import { API_KEY } from '../provider-descriptor.ts';
import type { ProviderDescriptor } from '../provider-descriptor.ts';
import { elevenLabsVoices, FLASH, toHeaders } from './elevenlabs-voices.ts';

export const elevenLabs = {
  name: 'ElevenLabs',
  kinds: ['tts'],
  credentialFields: API_KEY,
  api: {
    variable: 'ELEVENLABS',
    standardUrl: 'https://api.elevenlabs.io',
    checkPath: '/v1/models',
    toHeaders,
  },
  models: [
    {
      id: FLASH,
      kind: 'tts',
      model: 'eleven_flash_v2_5',
      name: 'ElevenLabs Flash v2.5',
      languages: ['*'],
      capabilities: ['streaming', 'word_times'],
      // "Rachel", of the vendor's premade voices.
      voice: '21m00Tcm4TlvDq8ikWAM',
    },
  ],
  voices: elevenLabsVoices,
} as const satisfies ProviderDescriptor;
