import { agentConfigSchema } from '@parley/shared/contracts/agent-config';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import { ValidationError } from '@parley/shared/errors/app-error';
import type { ValidationDetail } from '@parley/shared/errors/app-error';
import { mergePatch } from '../http/merge-patch.ts';
import { isOutboundUrl, OUTBOUND_URL_MESSAGE } from '../http/outbound-url.ts';
import { toValidationDetails } from '../http/validation.ts';
import { checkInstalledParts } from './installed-parts.ts';
import type { AgentRecord } from './agent-record.ts';

type Json = Record<string, unknown>;

/** Parts of `config` that are replaced as one value (JSON Merge Patch does not reach into them). */
const WHOLE = ['telephony.calling_hours'];

const HEADER_NAME = /^[A-Za-z0-9_-]{1,128}$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What is stored of a config: as sent, `webhooks` apart. */
export interface StoredConfig {
  config: AgentRecord['config'];
  webhooks: AgentRecord['webhooks'];
}

/** What an agent has that is made without a word on it: older agents keep what they were shown. */
export const NEW_AGENT: StoredConfig = {
  config: { answer_detection: { enabled: true }, auto_database: true },
  webhooks: {},
};

/**
 * Puts a sent `config` on top of the stored one and checks the result.
 * @returns what to store (new header values still in the clear) and the same with every default
 * @throws ValidationError with `loc` below `["body", "config"]`
 */
export function applyConfig(
  current: StoredConfig,
  patch: Json,
  options: { outboundAllow: readonly string[] },
): StoredConfig & { full: AgentConfig } {
  const before = { ...(current.config as Json), webhooks: current.webhooks };
  const merged = resetToNew(mergePatch(before, keepMaskedHeaders(patch, current.config), WHOLE), patch);
  const parsed = agentConfigSchema.safeParse(merged, { reportInput: true });
  if (!parsed.success) throw new ValidationError(toValidationDetails(parsed.error, ['body', 'config']));
  const details = [
    ...checkHeaders(patch),
    ...checkAddresses(parsed.data, options.outboundAllow),
    ...checkInstalledParts(parsed.data, fillConfig(current)),
    ...checkSecretsMoved(current.config, merged, patch),
  ];
  if (details.length > 0) throw new ValidationError(details);
  const { webhooks = {}, ...config } = merged;
  return {
    config: config as AgentRecord['config'],
    webhooks: webhooks as AgentRecord['webhooks'],
    full: parsed.data,
  };
}

/** Null asks for the default, which for some settings is that of new agents and not the one that is filled in. */
function resetToNew(merged: Json, patch: Json, defaults: Json = NEW_AGENT.config as Json): Json {
  const reset = Object.entries(defaults).flatMap(([name, value]): [string, unknown][] => {
    const [asked, now] = [patch[name], merged[name]];
    if (asked === null) return [[name, value]];
    return isObject(asked) && isObject(now) && isObject(value) ? [[name, resetToNew(now, asked, value)]] : [];
  });
  return { ...merged, ...Object.fromEntries(reset) };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Configs that were filled before, by the text of what was stored; the longest unused leave first. */
const filled = new Map<string, AgentConfig>();
const MAX_FILLED = 500;
const MAX_FILLED_TEXT = 20_000;

/** The stored config with every default. Frozen: equal configs are one object. */
export function fillConfig(stored: StoredConfig): AgentConfig {
  const text = JSON.stringify([stored.config, stored.webhooks]);
  const known = filled.get(text);
  filled.delete(text);
  const config =
    known ?? deepFreeze(agentConfigSchema.parse({ ...stored.config, webhooks: stored.webhooks }));
  if (text.length <= MAX_FILLED_TEXT) filled.set(text, config);
  const [oldest] = filled.size > MAX_FILLED ? filled.keys() : [];
  if (oldest !== undefined) filled.delete(oldest);
  return config;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}

/** A header sent back as it was read, `{set, last_four}`, keeps its value. */
function keepMaskedHeaders(patch: Json, current: StoredConfig['config']): Json {
  const headers = sentHeaders(patch);
  if (!headers) return patch;
  const known = current.pre_call?.headers ?? {};
  const kept = Object.entries(headers).map(([name, value]) => {
    const masked = typeof value === 'object' && value !== null && 'set' in value;
    return [name, masked && Object.hasOwn(known, name) ? known[name] : value];
  });
  return {
    ...patch,
    pre_call: { ...(patch['pre_call'] as Json), headers: Object.fromEntries(kept) as Json },
  };
}

function sentHeaders(patch: Json): Json | undefined {
  const preCall = patch['pre_call'];
  if (typeof preCall !== 'object' || preCall === null || !('headers' in preCall)) return undefined;
  const { headers } = preCall;
  return typeof headers === 'object' && headers !== null ? (headers as Json) : undefined;
}

function checkHeaders(patch: Json): ValidationDetail[] {
  return Object.entries(sentHeaders(patch) ?? {}).flatMap(([name, value]) => {
    const loc = ['body', 'config', 'pre_call', 'headers', name];
    if (!HEADER_NAME.test(name))
      return [
        { loc, msg: 'must be a valid header name that is not reserved', type: 'string_pattern_mismatch' },
      ];
    if (typeof value === 'string' && !HEADER_VALUE.test(value)) {
      return [
        { loc, msg: 'contains characters that are not allowed in a header', type: 'string_pattern_mismatch' },
      ];
    }
    return [];
  });
}

function checkAddresses(config: AgentConfig, allow: readonly string[]): ValidationDetail[] {
  const details: ValidationDetail[] = [];
  const check = (url: string | null, loc: string[]) => {
    if (url !== null && !isOutboundUrl(url, allow)) {
      details.push({ loc: ['body', 'config', ...loc], msg: OUTBOUND_URL_MESSAGE, type: 'url_scheme' });
    }
  };
  check(config.pre_call.url, ['pre_call', 'url']);
  const callEnded = config.webhooks.call_ended;
  check(callEnded.url, ['webhooks', 'call_ended', 'url']);
  if (callEnded.enabled && callEnded.url === null) {
    const loc = ['body', 'config', 'webhooks', 'call_ended', 'url'];
    details.push({ loc, msg: 'Field required', type: 'missing' });
  }
  return details;
}

/** Stored secrets never follow an address to another host. */
function checkSecretsMoved(current: StoredConfig['config'], merged: Json, patch: Json): ValidationDetail[] {
  const before = current.pre_call?.url;
  const after = (merged['pre_call'] as Json | undefined)?.['url'];
  if (typeof before !== 'string' || typeof after !== 'string' || sameOrigin(before, after)) return [];
  const resent = sentHeaders(patch) ?? {};
  const headers = ((merged['pre_call'] as Json)['headers'] ?? {}) as Json;
  return Object.keys(headers)
    .filter((name) => typeof resent[name] !== 'string')
    .map((name) => ({
      loc: ['body', 'config', 'pre_call', 'headers', name],
      msg: 'is required when the address changes',
      type: 'secret_required',
    }));
}

function sameOrigin(a: string, b: string): boolean {
  return URL.canParse(a) && URL.canParse(b) && new URL(a).origin === new URL(b).origin;
}
