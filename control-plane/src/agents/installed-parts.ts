import { isNoiseSuppressorInstalled } from '@parley/shared/audio/noise-suppressor';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { ValidationDetail } from '@parley/shared/errors/app-error';

const installedHere = { noiseSuppressor: isNoiseSuppressorInstalled() };

/**
 * @param before the config so far: what it has is kept
 * @returns a `not_available` for every setting that asks for a part which this installation does not have
 */
export function checkInstalledParts(
  config: AgentConfig,
  before?: AgentConfig,
  installed: Readonly<typeof installedHere> = installedHere,
): ValidationDetail[] {
  const { noise_suppression: wanted } = config.stt;
  if (wanted === 'off' || wanted === before?.stt.noise_suppression || installed.noiseSuppressor) return [];
  return [
    {
      loc: ['body', 'config', 'stt', 'noise_suppression'],
      msg: 'cannot be used: this installation has no noise suppressor (the package @echogarden/rnnoise-wasm is left out)',
      type: 'not_available',
    },
  ];
}
