import { isPublicUrl } from '@parley/shared/http/safe-fetch';
import type { AccountProblem, ExpectedAccount } from '../carriers/account-problem.ts';
import { CarrierError, type Carrier } from '../carriers/carrier.ts';
import { carriers } from '../carriers/carriers.ts';

/** What a carrier says of an account. */
export interface AccountVerdict {
  /** Why the carrier has not confirmed the credentials; null: it has. */
  error: CarrierError['code'] | null;
  problems: AccountProblem[];
}

/**
 * Asks a carrier whether the credentials are good, and what else keeps calls from arriving.
 * @param expected.apiIsOwn the carrier's API is at an address of the installation's own, and may reach what is not public
 */
export async function checkAccount(
  carrier: Carrier,
  expected: ExpectedAccount & { publicUrl: string; apiIsOwn: boolean },
  signal?: AbortSignal,
): Promise<AccountVerdict> {
  const { title } = carriers[carrier.name];
  const problems: AccountProblem[] = [];
  if (!expected.apiIsOwn && !isPublicUrl(expected.publicUrl)) {
    const message = `${title} cannot reach this installation: neither calls nor media streams would arrive. Set PUBLIC_URL to an https address on the public internet.`;
    problems.push({ code: 'public_url_not_public', message });
  }
  let confirmed = false;
  try {
    await carrier.verifyCredentials(signal);
    confirmed = true;
    problems.push(...(await carrier.findProblems(expected, signal)));
    return { error: null, problems };
  } catch (failure) {
    if (!(failure instanceof CarrierError)) throw failure;
    problems.unshift({ code: failure.code, message: failureText(failure, confirmed) });
    return { error: confirmed ? null : failure.code, problems };
  }
}

function failureText({ carrier, code, status }: CarrierError, confirmed: boolean): string {
  const { title, credentials } = carriers[carrier];
  if (confirmed)
    return `${title} takes the credentials, and refused to show the settings of the account${status === undefined ? '' : ` (HTTP ${status})`}.`;
  const names = Object.keys(credentials.shape).join(', ');
  switch (code) {
    case 'auth':
      return `${title} refused the credentials. Copy them again from its console: ${names}.`;
    case 'rate_limit':
      return `${title} refused the request: too many have come. Verify again in a minute.`;
    case 'timeout':
      return `${title} did not answer in time. Verify again.`;
    case 'unavailable':
      return `${title} could not be reached, or failed. Verify again.`;
    case 'refused':
    case 'unsupported':
      return `${title} refused the request${status === undefined ? '' : ` (HTTP ${status})`}. Check that the account exists: ${names}.`;
  }
}
