import { readFile } from 'node:fs/promises';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { basename } from 'node:path';
import type { Logger } from '@parley/shared/logging/logger';

/** Where a person talks to the demonstration's agent. */
export const TALK_PATH = '/talk';

const own = (file: string) => new URL(`static/${file}`, import.meta.url);
/** Scripts that the console has in common with this page. */
const common = (file: string) => new URL(import.meta.resolve(`@parley/shared/browser/${file}`));

const SCRIPTS = [
  ...['talk.js', 'realtime-connection.js', 'conversation-view.js', 'microphone.js', 'player.js'].map(own),
  ...['microphone-worklet.js', 'player-worklet.js'].map(common),
];

const FILES: Record<string, { file: URL; type: string }> = {
  [TALK_PATH]: { file: own('talk.html'), type: 'text/html; charset=utf-8' },
  ...Object.fromEntries(
    SCRIPTS.map((file) => [
      `${TALK_PATH}/${basename(file.pathname)}`,
      { file, type: 'text/javascript; charset=utf-8' },
    ]),
  ),
  [`${TALK_PATH}/talk.css`]: { file: own('talk.css'), type: 'text/css; charset=utf-8' },
};

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ws: wss:; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Permissions-Policy': 'microphone=(self)',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-cache',
};

/** What a browser is given to open its WebSocket. */
export interface MintedSession {
  token: string;
  session_id: string;
}

/**
 * Serves a page on which a person talks to an agent with their microphone, and mints its tokens: only for browsers on
 * this machine, and for pages of its own. Everything else goes to whoever served it before.
 * @param mint makes a session; the key it needs never leaves this process
 * @returns a function that takes the page away
 */
export function serveTalkPage(
  server: Server,
  { mint, logger }: { mint: () => Promise<MintedSession>; logger: Logger },
): () => void {
  const others = server.listeners('request') as RequestListener[];

  const onRequest: RequestListener = (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0]!;
    if (path !== TALK_PATH && !path.startsWith(`${TALK_PATH}/`)) {
      for (const listener of others) listener.call(server, request, response);
      return;
    }
    respond(request, response, path).catch((error: unknown) => {
      logger.error({ err: error }, 'a request of the talk page failed');
      if (!response.headersSent) answer(response, 500, 'An internal error occurred.');
      else response.destroy();
    });
  };

  async function respond(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    if (path === `${TALK_PATH}/sessions`) {
      request.resume();
      if (request.method !== 'POST') return answer(response, 405, 'Method not allowed. Use POST.');
      if (!isLocal(request))
        return answer(
          response,
          403,
          'Tokens are issued only to pages of this machine. Open the talk page through localhost.',
        );
      const { token, session_id } = await mint();
      response.writeHead(200, {
        ...HEADERS,
        'Content-Type': 'application/json',
        'Cache-Control': 'no-store',
      });
      response.end(JSON.stringify({ token, session_id }));
      return;
    }
    const known = FILES[path];
    if (!known) return answer(response, 404, 'Page not found.');
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return answer(response, 405, 'Method not allowed. Use GET.');
    const bytes = await readFile(known.file);
    response.writeHead(200, { ...HEADERS, 'Content-Type': known.type, 'Content-Length': bytes.length });
    response.end(request.method === 'HEAD' ? undefined : bytes);
  }

  server.removeAllListeners('request');
  server.on('request', onRequest);
  return () => {
    server.off('request', onRequest);
    for (const listener of others) server.on('request', listener);
  };
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { ...HEADERS, 'Content-Type': 'text/plain; charset=utf-8' });
  response.end(text);
}

/**
 * A browser on this machine, on a page of this server. The name it used counts too: a foreign name that was made to
 * point here is somebody else's page.
 */
function isLocal(request: IncomingMessage): boolean {
  const address = request.socket.remoteAddress ?? '';
  if (address !== '::1' && !/^(::ffff:)?127\./.test(address)) return false;
  const { host, origin } = request.headers;
  if (host === undefined || origin !== `http://${host}`) return false;
  const name = host.replace(/:\d+$/, '');
  return name === 'localhost' || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name);
}
