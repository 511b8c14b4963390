import path from 'node:path';
import { z } from 'zod';
import { envAddresses, envInteger, envPort, envUrl, readEnv } from '@parley/shared/config/read-env';
import { Secret } from '@parley/shared/config/secret';

const environment = z.object({
  HOST: z.string().default('127.0.0.1'),
  /** WebSockets of carriers and clients, and health. */
  PORT: envPort.default(8082),
  /** Where this gateway can be reached from the ingress; only shown. */
  GATEWAY_URL: envUrl.optional(),
  /** The control plane's internal listener. */
  INTERNAL_URL: envUrl,
  /** Shared with the control plane. */
  INTERNAL_TOKEN: z
    .string()
    .min(24, 'must have at least 24 characters')
    .transform((value) => new Secret(value)),
  /** Reports and recordings that are not delivered yet: on a volume of this gateway's own. */
  DATA_DIR: z.string().default('./data/gateway'),
  /** Recordings that plans store as files; shared with the control plane. */
  STORAGE_DIR: z.string().default('./data'),
  /** Calls at a time; beyond, connections are refused. */
  MAX_CALLS: envInteger(1, 100_000).default(200),
  /** `off`: voices are told from other sounds by loudness alone, without a model in a thread of its own. */
  VOICE_MODEL: z.enum(['on', 'off']).default('on'),
  /** While its event loop was later than this (p99 of 5 s), a gateway with calls refuses more; 0: never. */
  MAX_LOOP_DELAY_MS: envInteger(0, 60_000).default(250),
  /** The control plane has answered who may connect after so long, or is taken for unreachable. */
  CONTROL_PLANE_TIMEOUT_MS: envInteger(100, 60_000).default(2000),
  /** How long a stopping gateway waits for running calls. */
  DRAIN_TIMEOUT_MS: envInteger(0, 86_400_000).default(300_000),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** One WebSocket message of a carrier. */
  MAX_MESSAGE_BYTES: envInteger(4096, 16_777_216).default(65_536),
  MAX_MESSAGES_PER_SECOND: envInteger(100, 100_000).default(1000),
  /** Sent, but not taken by the far end. */
  MAX_BUFFERED_BYTES: envInteger(16_384, 67_108_864).default(262_144),
  /** One WebSocket message of a realtime client: recorded audio comes in one piece. */
  REALTIME_MAX_MESSAGE_BYTES: envInteger(65_536, 67_108_864).default(16_777_216),
  /** Sent, but not taken by a realtime client. A second of audio is 64 kB. */
  REALTIME_MAX_BUFFERED_BYTES: envInteger(262_144, 67_108_864).default(2_097_152),
  MAX_HEADER_BYTES: envInteger(4096, 65_536).default(16_384),
  /** A carrier's stream that says no `start` for so long is closed; one that may still ring when its ticket ends. */
  START_TIMEOUT_MS: envInteger(100, 60_000).default(5000),
  /**
   * TCP connections, admitted or not. One that has sent no complete request after about ten seconds is closed, which
   * is uWebSockets.js' own bound.
   */
  MAX_CONNECTIONS: envInteger(1, 1_000_000).default(10_000),
  MAX_PENDING_UPGRADES: envInteger(1, 100_000).default(500),
  /** Credentials that were refused to one address in a minute; beyond, its connections get 429. 0: any number. */
  ADDRESS_REFUSALS_PER_MINUTE: envInteger(0, 1_000_000).default(60),
  /** Addresses and CIDR ranges whose X-Forwarded-For is believed. */
  TRUSTED_PROXIES: envAddresses.default([]),
  /** Seconds; half-open connections end after this. */
  IDLE_TIMEOUT_SECONDS: envInteger(8, 960).default(32),
});

export type GatewayConfig = Readonly<z.output<typeof environment>>;

/** What the process itself needs beside the gateway. */
const processEnvironment = environment.extend({
  REDIS_URL: z
    .string()
    .regex(/^(rediss?:\/\/|\/)/, 'must be a redis:// or rediss:// address or a socket path'),
  /** The same for all processes. */
  EVENT_PARTITIONS: envInteger(1, 1024).default(8),
});

/** Every variable that a gateway reads. */
export const GATEWAY_VARIABLES: readonly string[] = Object.keys(processEnvironment.shape);

export type GatewayProcessConfig = Readonly<z.output<typeof processEnvironment>>;

/** @throws ConfigError naming every bad variable */
export function loadGatewayConfig(env: NodeJS.ProcessEnv): GatewayConfig {
  return readEnv(environment, env);
}

/** @throws ConfigError naming every bad variable */
export function loadProcessConfig(env: NodeJS.ProcessEnv): GatewayProcessConfig {
  return readEnv(processEnvironment, env);
}

/** Reports and recordings under way. */
export function spoolDir(config: Pick<GatewayConfig, 'DATA_DIR'>): string {
  return path.join(config.DATA_DIR, 'spool');
}
