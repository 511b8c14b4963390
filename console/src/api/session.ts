import { toApiError, unreachable } from './api-error.ts';
import { reachability } from './reachability.ts';

// Who is signed in. The access token lives in memory only; what renews it is a cookie that no script can read.

/**
 * `unknown` until the first look at the cookie. `expired`: the sign-in of whoever was here ran out. Until they have signed in
 * again, what their page asks for waits.
 */
export type SessionState = 'unknown' | 'in' | 'expired' | 'out';

interface Access {
  access_token: string;
  /** Seconds. */
  expires_in: number;
}

/** A token this close to its end is renewed before it is used. */
const MARGIN_MS = 30_000;
const LOCK = 'parley-session';

let token: string | undefined;
/** Whose page this is: a user's id. */
let owner: string | undefined;
let expiresAt = 0;
let state: SessionState = 'unknown';
let renewing: Promise<boolean> | undefined;
const listeners = new Set<() => void>();
const tabs = new BroadcastChannel(LOCK);

tabs.addEventListener('message', ({ data }) => {
  if (data === 'out') forget('out');
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
      forget('out');
      tabs.postMessage('out');
    }
  },
};

/**
 * A token that is good for a while yet. Where the sign-in ran out, once there is another.
 * @returns undefined when nobody is signed in
 */
export async function accessToken(): Promise<string | undefined> {
  if (state === 'expired') await signedInAgain();
  else if (token === undefined || Date.now() > expiresAt - MARGIN_MS) await renewed();
  return token;
}

/**
 * Renews the sign-in; where it ran out, waits until the person has signed in again.
 * @returns whether somebody is signed in
 * @throws ApiError when the server cannot be asked
 */
export async function renewed(): Promise<boolean> {
  return (state !== 'expired' && (await renew())) || signedInAgain();
}

/** @returns whether somebody is signed in */
function signedInAgain(): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = () => {
      if (state === 'expired') return;
      stop();
      resolve(state === 'in');
    };
    const stop = session.subscribe(settle);
    settle();
  });
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
      forget(state === 'in' || state === 'expired' ? 'expired' : 'out');
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
    reachability.lost();
    throw unreachable(error);
  });
  if (response.status === 204) return undefined;
  const answer: unknown = await response.json().catch(() => null);
  if (!response.ok) throw toApiError(response.status, answer, response.headers.get('x-request-id'));
  return answer as Access;
}

function keep(access: Access | undefined): void {
  if (!access) return;
  const subject = subjectOf(access.access_token);
  if (owner !== undefined && owner !== subject) {
    // Signed in as somebody else, perhaps in another tab: nothing of the one before is for them.
    location.reload();
    return;
  }
  owner = subject;
  token = access.access_token;
  expiresAt = Date.now() + access.expires_in * 1000;
  change('in');
}

function forget(next: 'expired' | 'out'): void {
  token = undefined;
  if (next === 'out') owner = undefined;
  change(next);
}

/** The user that a token is of (RFC 7519, 4.1.2). */
function subjectOf(accessToken: string): string | undefined {
  const [, payload = ''] = accessToken.split('.');
  return (JSON.parse(atob(payload.replace(/-/g, '+').replace(/_/g, '/'))) as { sub?: string }).sub;
}

function change(next: SessionState): void {
  if (state === next) return;
  state = next;
  for (const listener of listeners) listener();
}
