import { AppError } from '@parley/shared/errors/app-error';
import type { CarrierError } from '../carriers/carrier.ts';

const TEXTS: Record<CarrierError['code'], string> = {
  auth: 'The carrier rejected the credentials. Verify the telephony account.',
  rate_limit: "The carrier's rate limit for this account is reached. Retry later.",
  refused: 'The carrier rejected the request.',
  unavailable: 'The carrier cannot be reached.',
  timeout: 'The carrier did not answer in time.',
  unsupported: 'The carrier cannot do this.',
};

/** A carrier failed at what a request asked for. */
export class CarrierFailure extends AppError {
  constructor(error: CarrierError) {
    super(502, 'provider_error', TEXTS[error.code], { cause: error });
  }
}
