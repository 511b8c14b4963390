import { z } from 'zod';
import { OutboundRefusedError } from '@parley/shared/http/outbound-errors';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import { invalid } from '../http/validation.ts';

/** A provider's address as a tenant gives it. */
export const baseUrlField = z
  .url()
  .max(2048)
  .regex(/^[^?#]*$/, 'must not have a query or a fragment')
  .transform((url) => url.replace(/\/+$/, ''))
  .meta({ example: 'https://models.example.com/v1' });

/** @throws ValidationError when the outgoing rule forbids the address */
export function checkBaseUrl(fetch: SafeFetch, url: string, orgId: string): void {
  try {
    fetch.checkUrl(url, { purpose: 'provider', orgId });
  } catch (error) {
    if (!(error instanceof OutboundRefusedError)) throw error;
    throw invalid(['body', 'base_url'], error.message, error.code);
  }
}
