/**
 * Where a sign-in leads: a page of the console and nowhere else, whatever a link said.
 * @param to from the address: anybody may have written it
 */
export function safeTarget(to: unknown): string {
  if (typeof to !== 'string' || !/^\/(?![/\\])/.test(to)) return '/';
  const base = 'https://console.invalid';
  const url = URL.canParse(to, base) ? new URL(to, base) : undefined;
  if (url?.origin !== base || /^\/(sign-in|start)(\/|$)/.test(url.pathname)) return '/';
  return url.pathname + url.search;
}
