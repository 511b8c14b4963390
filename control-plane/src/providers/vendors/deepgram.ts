import { API_KEY } from '../provider-descriptor.ts';
import type { ProviderDescriptor } from '../provider-descriptor.ts';

export const deepgram = {
  name: 'Deepgram',
  kinds: ['stt'],
  credentialFields: API_KEY,
  api: {
    variable: 'DEEPGRAM',
    standardUrl: 'https://api.deepgram.com',
    checkPath: '/v1/projects',
    toHeaders: (apiKey: string) => ({ authorization: `Token ${apiKey}` }),
  },
  models: [
    {
      id: 'stt_deepgram_nova3',
      kind: 'stt',
      model: 'nova-3',
      name: 'Deepgram Nova-3',
      languages: ['*'],
      capabilities: ['streaming', 'word_times'],
    },
    {
      id: 'stt_deepgram_flux',
      kind: 'stt',
      model: 'flux-general-en',
      name: 'Deepgram Flux',
      languages: ['en'],
      capabilities: ['streaming', 'turn_detection'],
    },
  ],
} as const satisfies ProviderDescriptor;
