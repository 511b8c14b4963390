import { AppError } from '@parley/shared/errors/app-error';

/** Why a provider did not do what it was asked for; a word for programs, with nothing of what it said. */
export type ProviderFault =
  'auth' | 'rate_limit' | 'language' | 'refused' | 'unavailable' | 'timeout' | 'unexpected_answer';

const FAULT_TEXTS: Record<ProviderFault, string> = {
  auth: 'The provider rejected the credentials. Check them at the provider.',
  rate_limit: "The provider's rate limit for this account is reached. Retry later.",
  language: 'The provider does not speak this language.',
  refused: 'The provider rejected the request.',
  unavailable: 'The provider cannot be reached.',
  timeout: 'The provider did not answer in time.',
  unexpected_answer: 'The provider returned an invalid response.',
};

/** A provider failed: 502, or 504 when it took too long. */
export class ProviderFailure extends AppError {
  readonly fault: ProviderFault;

  constructor(fault: ProviderFault, options?: { cause?: unknown }) {
    const late = fault === 'timeout';
    super(late ? 504 : 502, late ? 'provider_timeout' : 'provider_error', FAULT_TEXTS[fault], options);
    this.fault = fault;
  }
}
