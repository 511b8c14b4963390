import { appendFileSync } from 'node:fs';
import { Secret } from '@parley/shared/config/secret';
import { KEPT_LOGS_VARIABLE, keptSecretsFile } from '@parley/shared/logging/kept-logs';

// Loaded before every test file (run.ts): notes each secret that is used, so that the run's logs can be searched for it.

const dir = process.env[KEPT_LOGS_VARIABLE];
if (dir !== undefined && dir !== '') {
  const noted = new Set<string>();
  const { reveal } = Secret.prototype;
  Secret.prototype.reveal = function (this: Secret): string {
    const value = reveal.call(this);
    if (!noted.has(value)) {
      noted.add(value);
      appendFileSync(keptSecretsFile(dir), `${JSON.stringify(value)}\n`);
    }
    return value;
  };
}
