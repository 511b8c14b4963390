import { envList } from '../config/read-env.ts';

/** What an outgoing request is for, as far as the allow-list tells them apart. */
export type OutboundPurpose = 'tool' | 'webhook' | 'provider';

/** An origin that the operator trusts: http and private addresses are fine there. */
export interface AllowEntry {
  /** `http://127.0.0.1:9000`, exactly: scheme, host and port. */
  origin: string;
  /** Only for this org. */
  org?: string;
  /** Only for this purpose. */
  for?: OutboundPurpose;
}

export interface OutboundScope {
  purpose: OutboundPurpose;
  /** Whose request it is; absent for none in particular. */
  orgId?: string | undefined;
}

/**
 * Reads an entry of `OUTBOUND_ALLOW`: an origin, then `;org=org_…` and `;for=tool` as needed.
 * @throws Error that says what is wrong with it
 */
export function parseAllowEntry(text: string): AllowEntry {
  const [address = '', ...conditions] = text.split(';').map((part) => part.trim());
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    throw new Error('must be an origin such as http://127.0.0.1:9000');
  }
  if (url.href !== `${url.origin}/`) throw new Error('must be an origin, without path or query');
  const entry: AllowEntry = { origin: url.origin };
  for (const condition of conditions) {
    const [name, value = ''] = condition.split('=');
    if (name === 'org' && value !== '') entry.org = value;
    else if (name === 'for' && isPurpose(value)) entry.for = value;
    else throw new Error('may be followed only by ;org=org_… and ;for=tool, ;for=webhook or ;for=provider');
  }
  return entry;
}

/** `OUTBOUND_ALLOW`: entries as `parseAllowEntry` reads them, comma-separated. */
export const envAllowList = envList.superRefine((entries, context) => {
  for (const [index, entry] of entries.entries()) {
    try {
      parseAllowEntry(entry);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      context.addIssue(entries.length === 1 ? why : `entry ${index + 1} ${why}`);
    }
  }
});

/** As text, for a session plan. */
export function formatAllowEntry(entry: AllowEntry): string {
  return [
    entry.origin,
    ...(entry.org ? [`org=${entry.org}`] : []),
    ...(entry.for ? [`for=${entry.for}`] : []),
  ].join(';');
}

export function isAllowed(list: readonly AllowEntry[], url: URL, scope: OutboundScope): boolean {
  return list.some(
    (entry) =>
      entry.origin === url.origin &&
      (entry.org === undefined || entry.org === scope.orgId) &&
      (entry.for === undefined || entry.for === scope.purpose),
  );
}

function isPurpose(word: string): word is OutboundPurpose {
  return word === 'tool' || word === 'webhook' || word === 'provider';
}
