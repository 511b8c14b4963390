import { API_KEY_PATTERN, REALTIME_TOKEN_PATTERN } from '@parley/shared/contracts/admission';

const KEY_PROTOCOL = 'openai-insecure-api-key.';
const BETA_PROTOCOL = 'openai-beta.realtime-v1';
const REALTIME_PROTOCOL = 'realtime';
/** A JSON Web Token in its compact form (RFC 7515). */
const JWT_PATTERN = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const MAX_TOKEN_LENGTH = 4096;
const MAX_AGENT_LENGTH = 64;
const MAX_ORIGIN_LENGTH = 512;

/** What a client of `/v1/realtime` brings along. */
export interface RealtimeHandshake {
  /** Undefined when there is none, or nothing that could be one. */
  credential:
    | { kind: 'realtime' | 'participant'; token: string }
    | { kind: 'api_key'; token: string; agentId: string }
    | undefined;
  /** The sub-protocol to answer with: only what was offered, and never the one that holds the key. */
  protocol: 'realtime' | '';
  /** It wants the retired beta version of the protocol. */
  beta: boolean;
  /** A browser's; undefined for programs. */
  origin: string | undefined;
  originIsValid: boolean;
}

/**
 * Reads the credential from `Authorization: Bearer` or, as browsers must send it, from the offered sub-protocols. An API
 * key says by `?model=` which agent it wants.
 * @param headers by lower-case name
 */
export function readHandshake({
  headers,
  query,
}: {
  headers: ReadonlyMap<string, string>;
  query: string;
}): RealtimeHandshake {
  const offered = (headers.get('sec-websocket-protocol') ?? '').split(',').map((name) => name.trim());
  const key = offered.find((name) => name.startsWith(KEY_PROTOCOL))?.slice(KEY_PROTOCOL.length);
  const bearer = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  const origin = headers.get('origin');
  return {
    credential: toCredential(bearer ?? key ?? '', new URLSearchParams(query).get('model') ?? ''),
    protocol: offered.includes(REALTIME_PROTOCOL) ? REALTIME_PROTOCOL : '',
    beta: offered.includes(BETA_PROTOCOL) || /realtime=v1/i.test(headers.get('openai-beta') ?? ''),
    origin,
    originIsValid: origin === undefined || isOrigin(origin),
  };
}

function toCredential(token: string, model: string): RealtimeHandshake['credential'] {
  if (token.length > MAX_TOKEN_LENGTH) return undefined;
  if (REALTIME_TOKEN_PATTERN.test(token)) return { kind: 'realtime', token };
  if (API_KEY_PATTERN.test(token))
    return { kind: 'api_key', token, agentId: model.slice(0, MAX_AGENT_LENGTH) };
  return JWT_PATTERN.test(token) ? { kind: 'participant', token } : undefined;
}

/** Serialised as browsers do (RFC 6454, section 6.1); `null` is what sandboxed pages and files send. */
function isOrigin(origin: string): boolean {
  if (origin === 'null') return true;
  if (origin.length > MAX_ORIGIN_LENGTH) return false;
  return /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/i.test(origin);
}
