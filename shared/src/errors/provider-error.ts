/**
 * What went wrong at an STT, LLM or TTS provider, in the terms a turn decides by:
 * `auth` never heals by itself; `rate_limit`, `timeout` and `unavailable` may; `protocol` means that the
 * provider said something its own documents do not allow.
 */
export type ProviderFault = 'auth' | 'rate_limit' | 'timeout' | 'unavailable' | 'protocol';

/** A speech or language provider failed. The message holds no text a person said and no credential. */
export class ProviderError extends Error {
  readonly provider: string;
  readonly fault: ProviderFault;

  constructor(provider: string, fault: ProviderFault, message: string, options?: { cause?: unknown }) {
    super(`${provider}: ${message}`, options);
    this.name = 'ProviderError';
    this.provider = provider;
    this.fault = fault;
  }
}
