import t from 'tap';
import { agentConfigSchema, defaultAgentConfig } from '@parley/shared/contracts/agent-config';
import { applyConfig } from './agent-config-input.ts';
import { checkInstalledParts } from './installed-parts.ts';

void t.test('a setting whose part is not installed is refused, unless the agent has it already', (t) => {
  const noisy = agentConfigSchema.parse({ stt: { noise_suppression: 'high' } });
  const without = { noiseSuppressor: false };
  t.match(checkInstalledParts(noisy, defaultAgentConfig(), without), [
    {
      loc: ['body', 'config', 'stt', 'noise_suppression'],
      type: 'not_available',
      msg: /@echogarden\/rnnoise-wasm/,
    },
  ]);
  t.same(checkInstalledParts(noisy, noisy, without), []);
  t.same(checkInstalledParts(defaultAgentConfig(), noisy, without), []);
  t.same(checkInstalledParts(noisy, defaultAgentConfig(), { noiseSuppressor: true }), []);
  const { full } = applyConfig(
    { config: {}, webhooks: {} },
    { stt: { noise_suppression: 'standard' } },
    { outboundAllow: [] },
  );
  t.equal(full.stt.noise_suppression, 'standard', 'it is installed here');
  t.end();
});
