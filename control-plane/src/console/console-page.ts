import { randomBytes } from 'node:crypto';
import { toWebSocketUrl } from '@parley/shared/contracts/addresses';
import type { ConsoleFiles } from '@parley/console/build/open-console';

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 22 22'%3E%3Crect width='22' height='22' rx='6' fill='%234c48ad'/%3E%3Cpath d='M5 9.5v3M8 7v8M11 9v4M14 6v10M17 9.5v3' stroke='%23fff' stroke-width='2' stroke-linecap='round'/%3E%3C/svg%3E";

const MARK = `<svg width="22" height="22" viewBox="0 0 22 22" aria-hidden="true"><rect width="22" height="22" rx="6" fill="#4c48ad" /><g stroke="#fff" stroke-width="2" stroke-linecap="round"><path d="M5 9.5v3M8 7v8" /><path d="M11 9v4M14 6v10M17 9.5v3" stroke-opacity="0.75" /></g></svg>`;
const BRAND = `<div class="starting-brand">${MARK}Parley</div>`;
const LOADING = '<div role="status" aria-label="Loading"></div>';
/** Behind the sign-in: see `PAGES` of the console. */
const HAS_NAVIGATION = /^\/(projects|orgs)\//;

/** Addresses that the page may reach besides its own. */
export interface ConsoleAddresses {
  /** `PUBLIC_URL`. */
  api: string;
  /** Where media are, when they are not there. */
  media: string | undefined;
}

/** A page with its policy: the nonce is another one each time, so neither is kept. */
export interface ConsolePage {
  html: string;
  policy: string;
}

/**
 * The page that loads the console; every address of the console answers with it. Until the scripts have come it shows the
 * frame of the page at `pathname` (console/src/app/starting.css).
 */
export function consolePage(
  { script, preloads, styles }: ConsoleFiles,
  { api, media = api }: ConsoleAddresses,
  pathname: string,
): ConsolePage {
  const nonce = randomBytes(18).toString('base64');
  const html = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="csp-nonce" content="${nonce}" />
    <meta name="api-url" content="${attribute(api)}" />
    <meta name="media-url" content="${attribute(toWebSocketUrl(media))}" />
    <meta name="robots" content="noindex" />
    <title>Parley</title>
    <link rel="icon" href="${ICON}" />
${styles.map((name) => `    <link rel="stylesheet" href="/assets/${name}" />\n`).join('')}${preloads
    .map((name) => `    <link rel="modulepreload" href="/assets/${name}" />\n`)
    .join('')}    <script type="module" src="/assets/${script}"></script>
  </head>
  <body>
    <div id="root"><div class="starting">${frameOf(pathname)}</div></div>
    <noscript>The console needs JavaScript.</noscript>
  </body>
</html>
`;
  const origins = [...new Set([api, media].map((url) => new URL(url.replace(/^ws/, 'http')).origin))];
  const reached = origins.join(' ');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    `connect-src 'self' ${reached} ${origins.map(toWebSocketUrl).join(' ')}`,
    `img-src 'self' data: blob: ${reached}`,
    `media-src 'self' data: blob: ${reached}`,
    "font-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { html, policy };
}

function frameOf(pathname: string): string {
  return HAS_NAVIGATION.test(pathname)
    ? `<div class="starting-side">${BRAND}</div><main class="starting-content">${LOADING}</main>`
    : `<main class="starting-content">${LOADING}${BRAND}</main>`;
}

function attribute(text: string): string {
  return text.replace(/[&"<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
