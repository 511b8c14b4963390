import type { CarrierName } from './session-values.ts';

/** Where browsers and programs open their WebSocket; exactly this path, with any query. */
export const REALTIME_PATH = '/v1/realtime';

/** Carrier streams: `/media/v1/streams/{carrier}/{ticket}`. The path holds a credential: it is never logged. */
export const STREAMS_PREFIX = '/media/v1/streams/';

/** @param publicUrl `http(s)://host[:port]` without a trailing slash */
export function toWebSocketUrl(publicUrl: string): string {
  return publicUrl.replace(/^http/, 'ws');
}

/** Where a carrier's stream goes, without the ticket: safe to store and to show. */
export function mediaWsUrl(publicUrl: string, carrier: CarrierName): string {
  return `${toWebSocketUrl(publicUrl)}${STREAMS_PREFIX}${carrier}`;
}

export function realtimeWsUrl(publicUrl: string): string {
  return `${toWebSocketUrl(publicUrl)}${REALTIME_PATH}`;
}

/** Whether an upgrade request for this path belongs to a gateway. */
export function isGatewayUpgrade(path: string): boolean {
  const end = path.indexOf('?');
  const bare = end === -1 ? path : path.slice(0, end);
  return bare === REALTIME_PATH || bare.startsWith(STREAMS_PREFIX);
}

/** Carrier callbacks of one telephony account. */
export function carrierCallbackPath(
  carrier: CarrierName,
  kind: 'voice' | 'status' | 'stream' | 'amd' | 'recording' | 'ucc',
  telephonyAccountId: string,
): string {
  return `/api/v1/webhooks/carriers/${carrier}/${kind}/${telephonyAccountId}`;
}

export const INTERNAL_PATHS = {
  check: '/internal/v1/admissions/check',
  redeem: '/internal/v1/admissions/redeem',
  recording: (recordingId: string) => `/internal/v1/recordings/${recordingId}`,
  toolCalls: (sessionId: string) => `/internal/v1/sessions/${sessionId}/tool-calls`,
  audioAsset: (assetId: string, rate: number | string) => `/internal/v1/audio-assets/${assetId}/${rate}`,
  handover: (sessionId: string) => `/internal/v1/sessions/${sessionId}/handover`,
  knowledgeSearch: (sessionId: string) => `/internal/v1/sessions/${sessionId}/knowledge-search`,
} as const;

/** Header that names the gateway on every internal request, beside `Authorization: Bearer`. */
export const GATEWAY_HEADER = 'parley-gateway';
