import { toApiError, unreachable } from './api-error.ts';

// Who is signed in. The access token lives in memory only; what renews it is a cookie that no script can read.

/** `unknown` until the first look at the cookie. */
export type SessionState = 'unknown' | 'in' | 'out';

interface Access {
  access_token: string;
  /** Seconds. */
  expires_in: number;
}

/** A token this close to its end is renewed before it is used. */
const MARGIN_MS = 30_000;
const LOCK = 'parley-session';

let token: string | undefined;
let expiresAt = 0;
let state: SessionState = 'unknown';
let renewing: Promise<boolean> | undefined;
const listeners = new Set<() => void>();
const tabs = new BroadcastChannel(LOCK);

tabs.addEventListener('message', ({ data }) => {
  if (data === 'out') forget();
  // Somebody signed in: perhaps as another person.
  if (data === 'in') void renew();
});

export const session = {
  get state(): SessionState {
    return state;
  },

  /** @returns takes the listener away */
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },

  /** @throws ApiError */
  async signIn(email: string, password: string): Promise<void> {
    keep(await post('login', { email, password }));
    tabs.postMessage('in');
  },

  /** Signs in with the code of the link that `npm start` prints. @throws ApiError */
  async signInByCode(code: string): Promise<void> {
    keep(await post('start', { code }));
    tabs.postMessage('in');
  },

  /** Ends the sign-in in all tabs. */
  async signOut(): Promise<void> {
    try {
      await post('logout', {});
    } finally {
      forget();
      tabs.postMessage('out');
    }
  },
};

/**
 * A token that is good for a while yet.
 * @returns undefined when nobody is signed in
 */
export async function accessToken(): Promise<string | undefined> {
  if (token === undefined || Date.now() > expiresAt - MARGIN_MS) await renew();
  return token;
}

/**
 * Renews the sign-in, once for all who ask at the same time.
 * @returns whether somebody is signed in
 * @throws ApiError when the server cannot be asked
 */
export function renew(): Promise<boolean> {
  renewing ??= inTurn(async () => {
    try {
      keep(await post('refresh', {}));
      return true;
    } catch (error) {
      if (!(error instanceof Error && 'status' in error && error.status === 401)) throw error;
      forget();
      return false;
    }
  }).finally(() => (renewing = undefined));
  return renewing;
}

/** Tabs take turns: each renewal uses up the cookie of the one before. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  return 'locks' in navigator ? navigator.locks.request(LOCK, work) : work();
}

async function post(action: string, body: object): Promise<Access | undefined> {
  const response = await fetch(`/session/${action}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    credentials: 'same-origin',
  }).catch((error: unknown) => {
    throw unreachable(error);
  });
  if (response.status === 204) return undefined;
  const answer: unknown = await response.json().catch(() => null);
  if (!response.ok) throw toApiError(response.status, answer, response.headers.get('x-request-id'));
  return answer as Access;
}

function keep(access: Access | undefined): void {
  if (!access) return;
  token = access.access_token;
  expiresAt = Date.now() + access.expires_in * 1000;
  change('in');
}

function forget(): void {
  token = undefined;
  change('out');
}

function change(next: SessionState): void {
  if (state === next) return;
  state = next;
  for (const listener of listeners) listener();
}
