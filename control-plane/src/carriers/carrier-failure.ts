import { AppError } from '@parley/shared/errors/app-error';
import type { CarrierError } from './carrier.ts';

const TEXTS: Record<CarrierError['code'], string> = {
  auth: 'The carrier rejected the credentials of the telephony account. Check them at the carrier.',
  rate_limit: "The carrier's rate limit for this account is reached. Retry later.",
  refused: 'The carrier rejected the request.',
  unavailable: 'The carrier cannot be reached, or returned an invalid response. Retry later.',
  timeout: 'The carrier did not answer in time. Retry later.',
  unsupported: 'The carrier cannot do this.',
};

/** What a carrier's failure is to a client that waits for it: 502, or 504 when it took too long. */
export function carrierFailure(error: CarrierError): AppError {
  const late = error.code === 'timeout' || error.status === 504;
  return new AppError(late ? 504 : 502, late ? 'provider_timeout' : 'provider_error', TEXTS[error.code], {
    cause: error,
  });
}
