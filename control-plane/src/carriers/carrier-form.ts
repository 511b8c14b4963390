import type { CarrierRequest } from './carrier.ts';

/** Form fields of a callback: of the body, or of the query for GET. Flat, in the order they came. */
export function formFields(request: CarrierRequest): URLSearchParams {
  if (request.method === 'GET') return new URL(request.url).searchParams;
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return new URLSearchParams();
  return new URLSearchParams(request.body.toString('utf8'));
}

/** Brings a carrier's number to E.164. @returns null for what is no number (anonymous callers, SIP addresses) */
export function toE164(number: string | null): string | null {
  if (number === null) return null;
  const digits = number.trim().replace(/^\+/, '');
  return /^[1-9]\d{6,14}$/.test(digits) ? `+${digits}` : null;
}
