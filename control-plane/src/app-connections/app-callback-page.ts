import type { AuthorizationOutcome } from './app-authorizations.ts';

/**
 * What a user sees who comes back from a vendor.
 * @param consoleUrl where the page leads on to; undefined: the installation has no console
 */
export function callbackPage(outcome: AuthorizationOutcome, consoleUrl: string | undefined): string {
  const next = consoleUrl === undefined ? undefined : consoleAddress(outcome, consoleUrl);
  const lines = [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="robots" content="noindex">',
    ...(next === undefined ? [] : [`<meta http-equiv="refresh" content="2;url=${escaped(next)}">`]),
    `<title>${outcome.connected ? 'Connected' : 'Not connected'}</title>`,
    '</head>',
    '<body>',
    `<h1>${outcome.connected ? 'Connected' : 'Not connected'}</h1>`,
    `<p>${escaped(outcome.message)}</p>`,
    ...(next === undefined ? [] : [`<p><a href="${escaped(next)}">Continue</a></p>`]),
    '</body>',
    '</html>',
  ];
  return `${lines.join('\n')}\n`;
}

function consoleAddress({ connected, connectionId }: AuthorizationOutcome, consoleUrl: string): string {
  const url = new URL(`${consoleUrl}/app-connections`);
  url.searchParams.set('result', connected ? 'connected' : 'failed');
  if (connectionId !== null) url.searchParams.set('connection_id', connectionId);
  return url.href;
}

function escaped(text: string): string {
  const entities: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replace(/[&<>"']/g, (character) => entities[character]!);
}
