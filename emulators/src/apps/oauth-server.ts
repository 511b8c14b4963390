import { createHash, randomBytes } from 'node:crypto';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import type { HttpAnswer } from '../server/emulator-server.ts';

export interface OAuthServerOptions {
  clientId: string;
  clientSecret: string;
  redirectUri: string;
  /** Sent with the redirect (RFC 9207); the vendor sends none when absent. */
  issuer?: string;
  /** How long access tokens live. */
  tokenLifeSeconds: number;
  /** Whether a refresh token is good once, and its renewal brings another. */
  rotates: boolean;
  /** Whether a code without PKCE is taken. */
  requiresPkce: boolean;
  /** What access tokens begin with. */
  prefix: string;
  clock?: Clock;
}

interface Code {
  challenge: string | null;
  scope: string;
  used: boolean;
}

interface Grant {
  scope: string;
  access: { token: string; endsAt: number };
  refresh: string;
  /** Refresh tokens that were good once. */
  spent: Set<string>;
  revoked: boolean;
}

const random = () => randomBytes(24).toString('base64url');

/**
 * The authorization server behind an emulated vendor: authorization code with PKCE, renewal, revocation. Its only user
 * agrees to everything at once, unless told otherwise. Written from RFC 6749, 7009, 7636 and 9207.
 */
export class OAuthServer {
  readonly #options: OAuthServerOptions;
  readonly #clock: Clock;
  readonly #codes = new Map<string, Code>();
  readonly #grants: Grant[] = [];
  /** Those who administer the client may give it another. */
  clientSecret: string;
  /** What the user does with the next request. */
  consent: 'agree' | 'deny' | { scope: string } = 'agree';
  /** Says so in its redirect; another than its own is an attack. */
  issuer: string | undefined;
  renewals = 0;
  revocations = 0;
  /** Resolves before a renewal is answered. */
  beforeRenewal: () => Promise<void> = () => Promise.resolve();

  constructor(options: OAuthServerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.issuer = options.issuer;
    this.clientSecret = options.clientSecret;
  }

  /** Whether a request carries a bearer token that is good. */
  admits(authorization: string | undefined): boolean {
    const token = /^Bearer (.+)$/.exec(authorization ?? '')?.[1];
    const grant = this.#grants.find(({ access }) => access.token === token);
    return grant !== undefined && !grant.revoked && grant.access.endsAt > this.#clock.now();
  }

  /** The user withdraws what was granted, at the vendor. */
  withdraw(): void {
    for (const grant of this.#grants) grant.revoked = true;
  }

  /** Access tokens that were given are no good any more; refresh tokens are. */
  forgetAccess(): void {
    for (const grant of this.#grants) grant.access.endsAt = 0;
  }

  /** Grants that are good. */
  get live(): number {
    return this.#grants.filter(({ revoked }) => !revoked).length;
  }

  /** The page where the user agrees: it redirects at once. */
  authorize({ searchParams: asked }: URL): HttpAnswer {
    const { clientId, redirectUri, requiresPkce } = this.#options;
    // Whom it does not know it sends nobody to.
    if (asked.get('client_id') !== clientId || asked.get('redirect_uri') !== redirectUri)
      return { status: 400, body: 'redirect_uri_mismatch' };
    const back = new URL(redirectUri);
    const state = asked.get('state');
    if (state !== null) back.searchParams.set('state', state);
    if (this.issuer !== undefined) back.searchParams.set('iss', this.issuer);
    const challenge = asked.get('code_challenge');
    const isFit =
      asked.get('response_type') === 'code' &&
      (challenge === null ? !requiresPkce : asked.get('code_challenge_method') === 'S256');
    if (!isFit) back.searchParams.set('error', 'invalid_request');
    else if (this.consent === 'deny') {
      back.searchParams.set('error', 'access_denied');
      back.searchParams.set('error_description', 'The <user> denied it');
    } else {
      const scope = this.consent === 'agree' ? (asked.get('scope') ?? '') : this.consent.scope;
      const code = random();
      this.#codes.set(code, { challenge, scope, used: false });
      back.searchParams.set('code', code);
    }
    return { status: 302, headers: { location: back.href }, body: '' };
  }

  /** The token endpoint. @param form as it was sent */
  async token(form: URLSearchParams): Promise<HttpAnswer> {
    if (!this.#isClient(form)) return refusal(401, 'invalid_client');
    switch (form.get('grant_type')) {
      case 'authorization_code':
        return this.#exchange(form);
      case 'refresh_token':
        return this.#renew(form);
      default:
        return refusal(400, 'unsupported_grant_type');
    }
  }

  /** RFC 7009. */
  revoke(form: URLSearchParams): HttpAnswer {
    const token = form.get('token');
    const grant = this.#grants.find(({ access, refresh }) => [access.token, refresh].includes(token ?? ''));
    if (!grant || grant.revoked) return refusal(400, 'invalid_token');
    grant.revoked = true;
    this.revocations += 1;
    return { status: 200, body: {} };
  }

  #isClient(form: URLSearchParams): boolean {
    return (
      form.get('client_id') === this.#options.clientId && form.get('client_secret') === this.clientSecret
    );
  }

  #exchange(form: URLSearchParams): HttpAnswer {
    const code = this.#codes.get(form.get('code') ?? '');
    const verifier = form.get('code_verifier') ?? '';
    const isProven =
      code?.challenge === null ||
      code?.challenge === createHash('sha256').update(verifier).digest('base64url');
    const isRight = code && !code.used && isProven && form.get('redirect_uri') === this.#options.redirectUri;
    if (code) code.used = true;
    if (!isRight) return refusal(400, 'invalid_grant');
    const grant: Grant = {
      scope: code.scope,
      access: this.#access(),
      refresh: random(),
      spent: new Set(),
      revoked: false,
    };
    this.#grants.push(grant);
    return this.#tokens(grant, true);
  }

  async #renew(form: URLSearchParams): Promise<HttpAnswer> {
    const token = form.get('refresh_token') ?? '';
    const grant = this.#grants.find(({ refresh, spent }) => refresh === token || spent.has(token));
    if (!grant || grant.revoked) return refusal(400, 'invalid_grant');
    if (grant.spent.has(token)) {
      // Whoever has one that is spent may have stolen it.
      grant.revoked = true;
      return refusal(400, 'invalid_grant');
    }
    this.renewals += 1;
    if (this.#options.rotates) {
      grant.spent.add(token);
      grant.refresh = random();
    }
    grant.access = this.#access();
    await this.beforeRenewal();
    return this.#tokens(grant, this.#options.rotates);
  }

  #access(): Grant['access'] {
    const { prefix, tokenLifeSeconds } = this.#options;
    return { token: prefix + random(), endsAt: this.#clock.now() + tokenLifeSeconds * 1000 };
  }

  #tokens({ access, refresh, scope }: Grant, withRefresh: boolean): HttpAnswer {
    return {
      status: 200,
      headers: { 'cache-control': 'no-store' },
      body: {
        access_token: access.token,
        expires_in: this.#options.tokenLifeSeconds,
        token_type: 'Bearer',
        scope,
        ...(withRefresh && { refresh_token: refresh }),
      },
    };
  }
}

function refusal(status: number, error: string): HttpAnswer {
  return { status, body: { error, error_description: `${error} (emulated)` } };
}
