import { z } from 'zod';
import {
  envAddresses,
  envBoolean,
  envInteger,
  envList,
  envNumber,
  envPort,
  envSecret,
  envUrl,
  readEnv,
} from '@parley/shared/config/read-env';
import { envAllowList } from '@parley/shared/http/allow-list';
import { Secret } from '@parley/shared/config/secret';
import { CARRIERS, type CarrierName } from '@parley/shared/contracts/session-values';
import type { AppVariable, OAuthVariable } from './app-connections/app-catalog.ts';
import { APP_VARIABLES, OAUTH_VARIABLES } from './app-connections/app-settings.ts';
import { invoiceVariables } from './invoices/invoice-config.ts';
import { CALLED_PROVIDERS, type ModelVariable, type ProviderVariable } from './providers/providers.ts';

/** `id:base64` pairs, comma-separated: 32-byte AES keys, the first one encrypts. */
const encryptionKeys = z.string().transform((text, context) => {
  const keys = text.split(',').map((part) => {
    const [id = '', encoded = ''] = part.trim().split(':');
    return { id, key: new Uint8Array(Buffer.from(encoded, 'base64')) };
  });
  const wellFormed = keys.every(({ id, key }) => /^[A-Za-z0-9_-]{1,32}$/.test(id) && key.length === 32);
  if (!wellFormed) context.addIssue('must be id:base64 pairs of 32-byte keys, comma-separated');
  return keys;
});

/** A JSON array of private EC P-256 keys (RFC 7517) with a `kid` each; the first one signs. */
const signingKeys = z.string().transform((text, context) => {
  try {
    const schema = z
      .array(
        z.object({
          kty: z.literal('EC'),
          crv: z.literal('P-256'),
          kid: z.string(),
          x: z.string(),
          y: z.string(),
          d: z.string(),
        }),
      )
      .min(1);
    return schema.parse(JSON.parse(text));
  } catch {
    context.addIssue('must be a JSON array of private P-256 JWKs with kid');
    return z.NEVER;
  }
});

type BaseUrlVariable = `${Uppercase<CarrierName>}_BASE_URL`;

/** `PLIVO_BASE_URL` and its like. */
const baseUrlVariable = (name: CarrierName) => `${name.toUpperCase()}_BASE_URL` as BaseUrlVariable;

/** Carriers' APIs, when they are not at the vendors' own addresses. */
const carrierVariables = Object.fromEntries(
  CARRIERS.map((name) => [baseUrlVariable(name), envUrl.optional()]),
) as Record<BaseUrlVariable, z.ZodOptional<typeof envUrl>>;

type ProviderVariables = Record<`${ProviderVariable}_API_KEY`, z.ZodOptional<typeof envSecret>> &
  Record<`${ProviderVariable}_BASE_URL`, z.ZodDefault<typeof envUrl>> &
  Record<ModelVariable, z.ZodOptional<z.ZodString>>;

/** The installation's own accounts at providers, and the model behind the catalogue's where its address has another. */
const providerVariables = Object.fromEntries(
  CALLED_PROVIDERS.flatMap(({ api }): [string, z.ZodType][] => [
    [`${api.variable}_API_KEY`, envSecret.optional()],
    [`${api.variable}_BASE_URL`, envUrl.default(api.standardUrl)],
    ...('operatorNamesModel' in api
      ? [[`${api.variable}_MODEL`, z.string().min(1).max(120).optional()] satisfies [string, z.ZodType]]
      : []),
  ]),
) as ProviderVariables;

/** The installation's OAuth clients at vendors of apps, and where these are when not at their own addresses. */
const appVariables = {
  ...Object.fromEntries(APP_VARIABLES.map((name) => [`APP_${name}_BASE_URL`, envUrl.optional()])),
  ...Object.fromEntries(
    OAUTH_VARIABLES.flatMap((name): [string, z.ZodType][] => [
      [`APP_${name}_CLIENT_ID`, z.string().min(1).max(500).optional()],
      [`APP_${name}_CLIENT_SECRET`, envSecret.optional()],
    ]),
  ),
} as Record<`APP_${AppVariable}_BASE_URL`, z.ZodOptional<typeof envUrl>> &
  Record<`APP_${OAuthVariable}_CLIENT_ID`, z.ZodOptional<z.ZodString>> &
  Record<`APP_${OAuthVariable}_CLIENT_SECRET`, z.ZodOptional<typeof envSecret>>;

const environment = z
  .object({
    /** Where clients and carriers reach this installation; also the issuer of tokens. Never contains `/v1`. */
    PUBLIC_URL: envUrl,
    /** Public host of media when it is not PUBLIC_URL's. */
    MEDIA_PUBLIC_URL: envUrl.optional(),
    /** Where this process reaches `/v1/realtime` itself, for agent tests, when the public address is none from here. */
    MEDIA_LOCAL_URL: envUrl.optional(),
    HOST: z.string().default('127.0.0.1'),
    PORT: envPort.default(8080),
    /** The internal listener for gateways; keep it off public networks. */
    INTERNAL_HOST: z.string().default('127.0.0.1'),
    INTERNAL_PORT: envPort.default(8081),
    /** Shared with every gateway. */
    INTERNAL_TOKEN: z
      .string()
      .min(24, 'must have at least 24 characters')
      .transform((value) => new Secret(value)),
    MONGODB_URI: z.string().regex(/^mongodb(\+srv)?:\/\//, 'must be a MongoDB connection string'),
    REDIS_URL: z.string().optional(),
    /** The same for all processes. */
    EVENT_PARTITIONS: envInteger(1, 1024).default(8),
    ENCRYPTION_KEYS: encryptionKeys,
    JWT_PRIVATE_KEYS: signingKeys,
    /** Target of mailed links and the only browser origin that may call the API. */
    CONSOLE_URL: envUrl.optional(),
    /** Where the console is served; without a port it is not. */
    CONSOLE_HOST: z.string().optional(),
    CONSOLE_PORT: envPort.optional(),
    /** Addresses and CIDR ranges whose X-Forwarded-For is believed. */
    TRUSTED_PROXIES: envAddresses.default([]),
    /** Who may register: nobody without an invite, everybody, or nobody at all. The first user always may. */
    REGISTRATION: z.enum(['invite', 'open', 'closed']).default('invite'),
    /** Without it mails are not sent, and a warning says so. */
    SMTP_URL: envSecret.optional(),
    /** The warning holds the mail, and links that reset passwords: only where nobody else reads the log. */
    MAILS_IN_LOG: envBoolean.default(false),
    SMTP_FROM: z.string().default('Parley <parley@localhost>'),
    /** Exact origins that outgoing calls may reach though private or not https. */
    OUTBOUND_ALLOW: envAllowList.default([]),
    /** Recordings and other files; shared by all processes. */
    STORAGE_DIR: z.string().default('./data'),
    /** Requests a minute from one address before credentials are checked; 0 switches it off. */
    ADDRESS_REQUESTS_PER_MINUTE: envInteger(0, 1_000_000).default(1200),
    /** Requests a minute per key or user, and within one second. */
    API_REQUESTS_PER_MINUTE: envInteger(1, 1_000_000).default(600),
    API_REQUESTS_BURST: envInteger(1, 1_000_000).default(60),
    /** log2 of scrypt's N for passwords: 17 is what OWASP asks for, each step less halves what a guess costs. */
    PASSWORD_COST_BITS: envInteger(10, 20).default(17),
    /** How long a stopping process waits for requests under way. */
    DRAIN_TIMEOUT_MS: envInteger(0, 3_600_000).default(30_000),
    LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
    ...providerVariables,
    ...carrierVariables,
    ...appVariables,
    /** How recordings come to STORAGE_DIR: gateways share it (`file`), or send them (`upload`). */
    RECORDING_STORE: z.enum(['file', 'upload']).default('file'),
    /** Sessions of one org at a time; 0 switches it off. */
    CONCURRENT_SESSIONS_PER_ORG: envInteger(0, 1_000_000).default(50),
    /** Sessions that start in one project in a minute; 0 switches it off. */
    SESSION_STARTS_PER_MINUTE: envInteger(0, 1_000_000).default(60),
    /** Calls that clients asked for, and that nobody has answered yet, at one time. */
    MAX_CONCURRENT_API_OUTBOUND_DIALS: envInteger(1, 100_000).default(20),
    /** Calls that the installation begins in a second; may be a fraction. */
    OUTBOUND_CALLS_PER_SECOND: envNumber(0.01, 1000).default(1),
    /** Part of the concurrent calls of each telephony account that outbound calls leave free. */
    INBOUND_RESERVE_PERCENT: envInteger(0, 90).default(20),
    /** How often the complaints of all telephony accounts are pulled from carriers that list them; 0: only when asked for. */
    COMPLAINT_PULL_MINUTES: envInteger(0, 1440).default(60),
    /** Single calls of one org that wait to be dialled; 0 switches it off. */
    OUTBOUND_QUEUE_SIZE: envInteger(0, 1_000_000).default(10_000),
    /** Providers behind whose address an emulator answers; shown wherever it matters. */
    EMULATED_PROVIDERS: envList.default([]),
    ...invoiceVariables,
  })
  .superRefine(checkConsole);

/** The console's cookie needs a host of its own, and TLS wherever somebody can listen. */
function checkConsole(
  env: { CONSOLE_URL?: string | undefined; CONSOLE_PORT?: number | undefined; PUBLIC_URL: string },
  context: z.RefinementCtx,
): void {
  if (env.CONSOLE_PORT === undefined) return;
  const fault = (message: string) => context.addIssue({ code: 'custom', path: ['CONSOLE_URL'], message });
  if (env.CONSOLE_URL === undefined) return fault('is required where CONSOLE_PORT is set');
  const { protocol, hostname, origin, pathname, search, hash } = new URL(env.CONSOLE_URL);
  if (pathname !== '/' || search !== '' || hash !== '') fault('must have no path: it is a host of its own');
  if (origin === new URL(env.PUBLIC_URL).origin) fault('must not be the host of PUBLIC_URL');
  const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
  if (protocol !== 'https:' && !(protocol === 'http:' && loopback))
    fault('must be https, except on this machine itself');
}

/** Where each carrier's API is, as far as it is not at the vendor's own address. */
export function carrierApiUrls(config: ControlPlaneConfig): Record<CarrierName, string | undefined> {
  return Object.fromEntries(CARRIERS.map((name) => [name, config[baseUrlVariable(name)]])) as Record<
    CarrierName,
    string | undefined
  >;
}

/** Every variable that a control plane reads. */
export const CONTROL_PLANE_VARIABLES: readonly string[] = Object.keys(environment.shape);

export type ControlPlaneConfig = Readonly<z.output<typeof environment>>;

/** @throws ConfigError naming every bad variable */
export function loadControlPlaneConfig(env: NodeJS.ProcessEnv): ControlPlaneConfig {
  return readEnv(environment, env);
}
