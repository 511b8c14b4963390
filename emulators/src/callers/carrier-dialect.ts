import type { CarrierName } from '@parley/shared/contracts/session-values';

/**
 * The media-stream messages of the carriers, from the carrier's side of the socket. Written from the vendors'
 * documents; shares nothing with the gateway, so that the two can only agree because both are right.
 */
export interface CarrierDialect {
  readonly name: CarrierName;
  /** What the carrier says first, in order. */
  opening(call: StreamIds): string[];
  /** Caller audio, 20 ms of mu-law in base64. Called for every frame: cheap. */
  media(call: StreamIds, frame: { base64: string; index: number; timestampMs: number }): string;
  dtmf(call: StreamIds, digit: string, timestampMs: number): string;
  /** A mark whose audio was played (or, where the carrier does so, cleared). */
  played(call: StreamIds, mark: string): string;
  /** Sent after a clear, where the carrier confirms it. */
  cleared(call: StreamIds): string | undefined;
  stop(call: StreamIds): string | undefined;
  /** Marks of cleared audio come back all the same (Twilio, Telnyx). */
  readonly returnsClearedMarks: boolean;
  /** Agent audio the carrier keeps at most, ms. */
  readonly bufferMs: number;
  parse(message: string): AgentMessage;
}

export interface StreamIds {
  callId: string;
  streamId: string;
  accountId: string;
  from: string;
  to: string;
  /** Counts the messages of the stream; the dialect raises it. */
  sequence: number;
}

/** What a gateway may send, in our words. `other` is what the carrier would refuse or ignore. */
export type AgentMessage =
  | { type: 'audio'; payload: string; encoding: 'pcmu' | 'pcm16'; sampleRate: number }
  | { type: 'mark'; name: string }
  | { type: 'clear' }
  | { type: 'dtmf'; digits: string }
  | { type: 'other'; event: string };

interface Wire {
  event?: unknown;
  media?: { payload?: unknown; contentType?: unknown; sampleRate?: unknown };
  mark?: { name?: unknown };
  name?: unknown;
  dtmf?: unknown;
}

function parseWire(message: string): Wire & { event: string } {
  const wire = JSON.parse(message) as Wire;
  return { ...wire, event: typeof wire.event === 'string' ? wire.event : '' };
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Carriers 1.1: `start` is first, its stream id nested; numbers are numbers. */
const plivo: CarrierDialect = {
  name: 'plivo',
  returnsClearedMarks: false,
  bufferMs: 40_000,
  opening: (call) => [
    JSON.stringify({
      event: 'start',
      sequenceNumber: ++call.sequence,
      start: {
        callId: call.callId,
        streamId: call.streamId,
        accountId: call.accountId,
        tracks: ['inbound'],
        mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000 },
      },
      extra_headers: '',
    }),
  ],
  media: (call, frame) =>
    `{"event":"media","sequenceNumber":${++call.sequence},"streamId":"${call.streamId}","media":{"track":"inbound","timestamp":"${1767323045000 + frame.timestampMs}","chunk":${frame.index + 1},"payload":"${frame.base64}"},"extra_headers":""}`,
  dtmf: (call, digit, timestampMs) =>
    JSON.stringify({
      event: 'dtmf',
      sequenceNumber: ++call.sequence,
      streamId: call.streamId,
      dtmf: { track: 'inbound', digit, timestamp: String(timestampMs) },
      extra_headers: '',
    }),
  played: (call, name) =>
    JSON.stringify({ event: 'playedStream', sequenceNumber: ++call.sequence, streamId: call.streamId, name }),
  cleared: (call) =>
    JSON.stringify({ event: 'clearedAudio', sequenceNumber: ++call.sequence, streamId: call.streamId }),
  stop: () => undefined,
  parse(message) {
    const wire = parseWire(message);
    switch (wire.event) {
      case 'playAudio':
        return {
          type: 'audio',
          payload: text(wire.media?.payload),
          encoding: wire.media?.contentType === 'audio/x-l16' ? 'pcm16' : 'pcmu',
          sampleRate: Number(wire.media?.sampleRate),
        };
      case 'checkpoint':
        return { type: 'mark', name: text(wire.name) };
      case 'clearAudio':
        return { type: 'clear' };
      case 'sendDTMF':
        return { type: 'dtmf', digits: text(wire.dtmf) };
      default:
        return { type: 'other', event: wire.event };
    }
  },
};

/** Carriers 2.1: `connected`, then `start`; counters are strings; clear gives all marks back. */
const twilio: CarrierDialect = {
  name: 'twilio',
  returnsClearedMarks: true,
  bufferMs: 600_000,
  opening: (call) => [
    JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }),
    JSON.stringify({
      event: 'start',
      sequenceNumber: String(++call.sequence),
      streamSid: call.streamId,
      start: {
        accountSid: call.accountId,
        streamSid: call.streamId,
        callSid: call.callId,
        tracks: ['inbound'],
        customParameters: {},
        mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
      },
    }),
  ],
  media: (call, frame) =>
    `{"event":"media","sequenceNumber":"${++call.sequence}","streamSid":"${call.streamId}","media":{"track":"inbound","chunk":"${frame.index + 1}","timestamp":"${frame.timestampMs}","payload":"${frame.base64}"}}`,
  dtmf: (call, digit) =>
    JSON.stringify({
      event: 'dtmf',
      sequenceNumber: String(++call.sequence),
      streamSid: call.streamId,
      dtmf: { track: 'inbound_track', digit },
    }),
  played: (call, name) =>
    JSON.stringify({
      event: 'mark',
      sequenceNumber: String(++call.sequence),
      streamSid: call.streamId,
      mark: { name },
    }),
  cleared: () => undefined,
  stop: (call) =>
    JSON.stringify({
      event: 'stop',
      sequenceNumber: String(++call.sequence),
      streamSid: call.streamId,
      stop: { accountSid: call.accountId, callSid: call.callId },
    }),
  parse: parseMediaMarkClear,
};

/** Carriers 3.1: snake_case, no stream id on what we are sent, marks come back on clear too. */
const telnyx: CarrierDialect = {
  name: 'telnyx',
  returnsClearedMarks: true,
  bufferMs: 60_000,
  opening: (call) => [
    JSON.stringify({ event: 'connected', version: '1.0.0' }),
    JSON.stringify({
      event: 'start',
      sequence_number: String(++call.sequence),
      stream_id: call.streamId,
      start: {
        user_id: call.accountId,
        call_control_id: call.callId,
        call_session_id: call.callId,
        from: call.from,
        to: call.to,
        tags: [],
        client_state: '',
        custom_parameters: {},
        media_format: { encoding: 'PCMU', sample_rate: 8000, channels: 1 },
      },
    }),
  ],
  media: (call, frame) =>
    `{"event":"media","sequence_number":"${++call.sequence}","stream_id":"${call.streamId}","media":{"track":"inbound","chunk":"${frame.index + 1}","timestamp":"${frame.timestampMs}","payload":"${frame.base64}"}}`,
  dtmf: (call, digit) =>
    JSON.stringify({
      event: 'dtmf',
      stream_id: call.streamId,
      occurred_at: new Date().toISOString(),
      sequence_number: String(++call.sequence),
      dtmf: { digit },
    }),
  played: (call, name) =>
    JSON.stringify({
      event: 'mark',
      sequence_number: String(++call.sequence),
      stream_id: call.streamId,
      mark: { name },
    }),
  cleared: () => undefined,
  stop: (call) =>
    JSON.stringify({
      event: 'stop',
      sequence_number: String(++call.sequence),
      stream_id: call.streamId,
      stop: { user_id: call.accountId, call_control_id: call.callId },
    }),
  parse: parseMediaMarkClear,
};

function parseMediaMarkClear(message: string): AgentMessage {
  const wire = parseWire(message);
  switch (wire.event) {
    case 'media':
      return { type: 'audio', payload: text(wire.media?.payload), encoding: 'pcmu', sampleRate: 8000 };
    case 'mark':
      return { type: 'mark', name: text(wire.mark?.name) };
    case 'clear':
      return { type: 'clear' };
    default:
      return { type: 'other', event: wire.event };
  }
}

export const dialects: Readonly<Record<CarrierName, CarrierDialect>> = { plivo, twilio, telnyx };
