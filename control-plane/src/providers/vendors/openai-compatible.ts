import { API_KEY } from '../provider-descriptor.ts';
import type { ProviderDescriptor } from '../provider-descriptor.ts';

export const openAiCompatible = {
  name: 'OpenAI and compatible servers',
  kinds: ['llm'],
  credentialFields: API_KEY,
  api: {
    variable: 'OPENAI',
    operatorNamesModel: true,
    standardUrl: 'https://api.openai.com/v1',
    othersServe: true,
    checkPath: '/models',
    toHeaders: (apiKey: string) => ({ authorization: `Bearer ${apiKey}` }),
  },
  models: [
    {
      id: 'llm_openai_gpt41_mini',
      kind: 'llm',
      model: 'gpt-4.1-mini',
      name: 'OpenAI GPT-4.1 mini',
      languages: ['*'],
      capabilities: ['streaming', 'tools', 'json_schema'],
    },
  ],
} as const satisfies ProviderDescriptor;
