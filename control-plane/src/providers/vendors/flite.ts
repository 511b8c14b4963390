import type { ProviderDescriptor } from '../provider-descriptor.ts';

export const flite = {
  name: 'Built-in voice',
  kinds: ['tts'],
  credentialFields: [],
  api: null,
  models: [
    {
      id: 'tts_local',
      kind: 'tts',
      model: 'flite',
      name: 'Built-in voice',
      languages: ['en'],
      capabilities: [],
      voice: 'slt',
    },
  ],
} as const satisfies ProviderDescriptor;
