import { tokensOf } from '@parley/emulators/providers/openai/completion-stream';
import type { CallReport } from '@parley/shared/contracts/call-events';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import type { AgentConfigInput } from '@parley/shared/contracts/agent-config';
import type { EmulatorTls } from '@parley/emulators/server/emulator-server';

/** Delays of the emulated providers: always the same, so that what is left over is the gateway's. Milliseconds. */
export interface ProviderDelays {
  /** From the first voiced chunk to the begin of the turn. Not subtracted from anything: callers wait for it. */
  sttStartMs: number;
  /** From the last voiced chunk to the end of the turn. */
  sttMs: number;
  /** To the first token. */
  llmMs: number;
  /** From one token to the next; 0 where all come at once. */
  tokenMs: number;
  /** To the first audio. */
  ttsMs: number;
}

export const DELAYS: ProviderDelays = { sttStartMs: 0, sttMs: 200, llmMs: 200, tokenMs: 0, ttsMs: 100 };

/**
 * What the providers take from the end of a turn to the first audio of its answer, which is one sentence: until the
 * token that ends it.
 */
export function answerMs(delays: ProviderDelays, answer: string): number {
  return delays.llmMs + delays.tokenMs * (tokensOf(answer).length - 1) + delays.ttsMs;
}

export interface BackendOptions {
  delays: ProviderDelays;
  turns: number;
  /** What the emulated ears are taught beside the conversations: lines by the tag of a call. */
  taught?: Readonly<Record<string, readonly string[]>>;
  /** They believe the marks of the voice in the audio; see voice-mark.ts of the emulators. */
  markedEars?: boolean;
  /** What the agent is told to do, beside its defaults. */
  agentConfig: AgentConfigInput;
  greeting: string;
  /** Recordings are made, too. */
  record: boolean;
  /** Providers speak TLS with it, and offer HTTP/2. */
  tls: EmulatorTls | undefined;
  /** Redis whose event streams are read here, as the control plane would. */
  redisUrl: string | undefined;
}

/** One call that a gateway will be asked about. */
export interface PreparedCall {
  /** SHA-256 of the ticket, hex. */
  digest: string;
  sessionId: string;
  /** Tag of its speech recognition connection. */
  conversation: string;
  carrier: CarrierName;
}

/** What a gateway reported of one call. */
export interface ReportedCall {
  sessionId: string;
  report: CallReport | undefined;
  /** Must be 1. */
  terminalEvents: number;
  /** When the last report came; ms since the epoch, with fractions. */
  endedAt: number;
}

export interface BackendStats {
  llmRequests: number;
  llmHttp2Requests: number;
  llmAborted: number;
  llmTokensSpared: number;
  sttConnections: number;
  sttOpen: number;
  ttsContexts: number;
  ttsOpenContexts: number;
  ttsSockets: number;
  redeemed: number;
  events: number;
  /** How late the emulators' event loop was since it was asked last, ms: it shows as overhead that is not the gateway's. */
  lateP99Ms: number;
}

export interface BackendAddresses {
  deepgram: string;
  openai: string;
  elevenlabs: string;
  /** Internal API of the stand-in for the control plane. */
  internal: string;
  internalToken: string;
}

export type ProviderFault = { provider: 'stt' | 'llm' | 'tts'; faults: readonly object[] };

/**
 * Everything a gateway talks to except carriers: emulated providers, and a stand-in for the control plane that admits
 * prepared calls and reads their events.
 */
export interface Backend {
  readonly addresses: BackendAddresses;
  /** Of its own process, if it has one. */
  readonly pid: number | undefined;
  prepare(calls: readonly PreparedCall[]): Promise<void>;
  /** Reports that came since it was asked last. */
  takeReports(): Promise<ReportedCall[]>;
  /** Waits until every one of these calls has been reported. @returns those that were not */
  reported(sessionIds: readonly string[], timeoutMs: number): Promise<string[]>;
  stats(): Promise<BackendStats>;
  setFaults(fault: ProviderFault): Promise<void>;
  /** Takes an event that came some other way than through Redis. */
  receive(event: unknown): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
