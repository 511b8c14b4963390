import type { BlockList } from 'node:net';
import Koa from 'koa';
import type { Context } from 'koa';
import { z } from 'zod';
import type { ConsoleSource } from '@parley/console/build/open-console';
import { AppError, ForbiddenError, NotFoundError } from '@parley/shared/errors/app-error';
import { addressKey, clientAddress } from '@parley/shared/http/client-address';
import type { Logger } from '@parley/shared/logging/logger';
import { errorHandler } from '../http/error-handler.ts';
import { jsonBody } from '../http/operation.ts';
import { chooseBody, parseJsonBody, readBytes } from '../http/read-body.ts';
import { rateLimited } from '../http/request-limiter.ts';
import type { RequestLimiter } from '../http/request-limiter.ts';
import type { Origin } from '../identity/identity-common.ts';
import type { Tokens } from '../identity/sign-ins.ts';
import { consolePage } from './console-page.ts';
import type { ConsoleAddresses } from './console-page.ts';
import { SessionCookie } from './session-cookie.ts';

const BODY_LIMIT_BYTES = 16_384;
const YEAR_SECONDS = 31_536_000;
const LOOPBACK_NAME = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** What signs people in and out, within its own limits. */
export interface ConsoleSignIn {
  login(email: string, password: string, origin: Origin): Promise<Tokens>;
  refresh(refreshToken: string, origin: Origin): Promise<Tokens>;
  logout(refreshToken: string, origin: Origin): Promise<void>;
  /** Where links sign in; absent everywhere else. */
  start?: ((code: string, origin: Origin) => Promise<Tokens>) | undefined;
}

export interface ConsoleDeps {
  logger: Logger;
  limiter: RequestLimiter;
  /** Requests a minute from one address; 0: no limit. */
  addressLimitPerMinute: number;
  trustedProxies: BlockList;
  /** `CONSOLE_URL`: where people open the console. */
  url: string;
  addresses: ConsoleAddresses;
  source: ConsoleSource;
  signIn: ConsoleSignIn;
  /** Whether the process is stopping. */
  draining(): boolean;
}

const login = jsonBody(
  z.strictObject({ email: z.string().min(1).max(254), password: z.string().min(1).max(1000) }),
  { limitBytes: BODY_LIMIT_BYTES },
);
const start = jsonBody(z.strictObject({ code: z.string().min(1).max(200) }), {
  limitBytes: BODY_LIMIT_BYTES,
});
const nothing = jsonBody(z.strictObject({}), { optional: true, limitBytes: BODY_LIMIT_BYTES });

/**
 * The console's own host: its files, and the one cookie of the platform. The REST host sets and reads none: pages call it
 * with a token that they hold in memory, so that a request forged by another site carries no credential.
 */
export function createConsoleApp(deps: ConsoleDeps): Koa {
  const { url, signIn } = deps;
  const { origin, protocol, hostname } = new URL(url);
  const cookie = new SessionCookie(url);
  const app = new Koa();
  app.silent = true;
  app.use(errorHandler(deps.logger));
  app.use(async (ctx, next) => {
    ctx.set({
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Permissions-Policy': 'camera=(), geolocation=(), microphone=(self)',
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    });
    if (protocol === 'https:') ctx.set('Strict-Transport-Security', `max-age=${YEAR_SECONDS}`);
    try {
      await next();
    } finally {
      if (deps.draining()) ctx.set('Connection', 'close');
    }
  });

  const actions: Record<string, (ctx: Context, from: Origin) => Promise<Tokens | null>> = {
    async login(ctx, from) {
      const { email, password } = await read(ctx, login);
      return signIn.login(email, password, from);
    },
    async refresh(ctx, from) {
      await read(ctx, nothing);
      return signIn.refresh(cookie.read(ctx), from);
    },
    async logout(ctx, from) {
      await read(ctx, nothing);
      await signIn.logout(cookie.read(ctx), from);
      return null;
    },
    ...(signIn.start && { start: async (ctx, from) => signIn.start!((await read(ctx, start)).code, from) }),
  };

  async function act(ctx: Context, name: string): Promise<void> {
    ctx.state['route'] = `/session/${Object.hasOwn(actions, name) ? name : '…'}`;
    ctx.set('Cache-Control', 'no-store');
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (!action) throw new NotFoundError();
    if (ctx.method !== 'POST') {
      ctx.set('Allow', 'POST');
      throw new AppError(405, 'method_not_allowed', 'The route does not support this method.');
    }
    const address = clientAddress(
      ctx.req.socket.remoteAddress ?? '',
      ctx.get('x-forwarded-for'),
      deps.trustedProxies,
    );
    await limitAddress(address);
    checkOrigin(ctx);
    const tokens = await action(ctx, { address });
    if (tokens === null) {
      cookie.clear(ctx);
      ctx.status = 204;
      return;
    }
    // A refused refresh leaves the cookie: another tab may have renewed it this moment.
    cookie.write(ctx, tokens.refresh_token);
    ctx.body = { access_token: tokens.access_token, expires_in: tokens.expires_in };
  }

  async function limitAddress(address: string): Promise<void> {
    if (deps.addressLimitPerMinute === 0) return;
    const limit = {
      bucket: `address:${addressKey(address)}`,
      limit: deps.addressLimitPerMinute,
      windowSeconds: 60,
    };
    const hit = await deps.limiter.hit([limit]);
    if (hit?.refused) throw rateLimited(hit.state);
  }

  /** A cookie goes along with requests of other sites on this host's name: who sends them is told by the browser. */
  function checkOrigin(ctx: Context): void {
    const site = ctx.get('Sec-Fetch-Site');
    if (ctx.get('Origin') === origin && (site === '' || site === 'same-origin')) return;
    throw new ForbiddenError(
      'forbidden',
      'Only pages of the console itself may sign in here. Open the console at its own address.',
    );
  }

  async function file(ctx: Context, name: string): Promise<void> {
    ctx.state['route'] = '/assets/{file}';
    readable(ctx);
    const found = (await deps.source.files()).files.get(name);
    if (!found) throw new NotFoundError();
    ctx.set('Cache-Control', `public, max-age=${YEAR_SECONDS}, immutable`);
    ctx.set('Vary', 'Accept-Encoding');
    ctx.type = found.type;
    if (ctx.acceptsEncodings('gzip', 'identity') === 'gzip') {
      ctx.set('Content-Encoding', 'gzip');
      ctx.body = found.gzip;
    } else ctx.body = found.bytes;
  }

  async function page(ctx: Context): Promise<void> {
    ctx.state['route'] = '/{page}';
    readable(ctx);
    // Files that browsers and robots ask every host for.
    if (/\.[a-z]+$/.test(ctx.path)) throw new NotFoundError();
    // A sign-in holds for one name: that of the address.
    const asked = ctx.get('Host').replace(/:\d+$/, '');
    if (asked !== hostname && LOOPBACK_NAME.test(hostname) && LOOPBACK_NAME.test(asked)) {
      ctx.redirect(`${origin}${ctx.path}${ctx.search}`);
      return;
    }
    const { html, policy } = consolePage(await deps.source.files(), deps.addresses, ctx.path);
    ctx.set('Content-Security-Policy', policy);
    ctx.set('Cache-Control', 'no-store');
    ctx.type = 'text/html; charset=utf-8';
    ctx.body = html;
  }

  app.use((ctx) => {
    const [, first = '', second = '', ...more] = ctx.path.split('/');
    if (first === 'session') return act(ctx, more.length === 0 ? second : '');
    if (first === 'assets') return file(ctx, more.length === 0 ? second : '');
    return page(ctx);
  });
  return app;
}

async function read<T>(ctx: Context, spec: ReturnType<typeof jsonBody<T>>): Promise<T> {
  chooseBody(ctx.req, [spec]);
  if (ctx.get('Content-Type') === '')
    throw new AppError(415, 'unsupported_media_type', 'Unsupported content type. Send application/json.');
  return parseJsonBody(spec, await readBytes(ctx.req, spec.limitBytes));
}

function readable(ctx: Context): void {
  if (ctx.method === 'GET' || ctx.method === 'HEAD') return;
  ctx.set('Allow', 'GET, HEAD');
  throw new AppError(405, 'method_not_allowed', 'The route does not support this method.');
}
