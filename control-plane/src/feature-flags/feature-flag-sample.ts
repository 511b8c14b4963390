import type { Sample } from '../composition/sample.ts';

export const featureFlagSample: Sample = {
  make: () => Promise.resolve({ key: 'voice_cloning' }),
  unknown: { key: 'no_such_flag' },
  scenarios: {
    setFeatureFlag: (_, send) => send(200, { body: { enabled: true } }),
  },
};
