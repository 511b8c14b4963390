import type { Context } from 'koa';

/** As long as a refresh token is good at most. */
const MAX_AGE_SECONDS = 30 * 24 * 3600;

/** The cookie that holds a browser's refresh token: no script reads it, and it goes to the console's host alone. */
export class SessionCookie {
  readonly #name: string;
  readonly #flags: string;

  /** @param consoleUrl over TLS the cookie has the `__Host-` prefix (RFC 6265bis, 4.1.3.2) */
  constructor(consoleUrl: string) {
    const { protocol, port } = new URL(consoleUrl);
    const secure = protocol === 'https:';
    // Cookies know no ports: two installations on one machine keep theirs apart by the name.
    this.#name = secure ? '__Host-parley' : `parley-${port || '80'}`;
    this.#flags = `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
  }

  /** @returns '' when the browser has none */
  read(ctx: Context): string {
    for (const part of ctx.get('Cookie').split(';')) {
      const [name = '', value = ''] = part.trim().split('=', 2);
      if (name === this.#name) return value;
    }
    return '';
  }

  write(ctx: Context, refreshToken: string): void {
    ctx.set('Set-Cookie', `${this.#name}=${refreshToken}; Max-Age=${MAX_AGE_SECONDS}; ${this.#flags}`);
  }

  clear(ctx: Context): void {
    ctx.set('Set-Cookie', `${this.#name}=; Max-Age=0; ${this.#flags}`);
  }
}
