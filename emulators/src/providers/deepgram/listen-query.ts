import { RAW_ENCODINGS } from '../../recogniser/level-meter.ts';
import type { RawFormat } from '../../recogniser/level-meter.ts';

/** What `/v1/listen` was asked for, with the vendor's defaults. */
export interface NovaQuery {
  model: string;
  /** Undefined when the audio comes in a container that says so itself. */
  format: RawFormat | undefined;
  channels: number;
  interimResults: boolean;
  /** Silence before `speech_final`; undefined when endpointing is off. */
  endpointingMs: number | undefined;
  utteranceEndMs: number | undefined;
  vadEvents: boolean;
  punctuate: boolean;
  /** A final may be held back while a number or date could go on. */
  holdsEntities: boolean;
  tag: string | undefined;
}

export interface FluxThresholds {
  eot_threshold: number;
  eager_eot_threshold: number | null;
  eot_timeout_ms: number;
}

/** What `/v2/listen` was asked for. */
export interface FluxQuery {
  model: string;
  format: RawFormat | undefined;
  thresholds: FluxThresholds;
  keyterms: string[];
  languageHints: string[];
  tag: string | undefined;
}

/** The request is refused with HTTP 400. */
export class QueryError extends Error {
  readonly code: string;

  constructor(message: string, code = 'INVALID_QUERY_PARAMETER') {
    super(message);
    this.name = 'QueryError';
    this.code = code;
  }
}

const BOOLEANS = [
  'interim_results',
  'vad_events',
  'punctuate',
  'smart_format',
  'no_delay',
  'multichannel',
  'numerals',
  'dictation',
  'diarize',
  'filler_words',
  'detect_entities',
  'mip_opt_out',
];
const NOVA_MODELS =
  /^((nova-3|nova-2|nova|enhanced|base)(-[a-z]+)*|whisper(-[a-z]+)?|[0-9a-f]{8}-[0-9a-f-]{27})$/;
const FLUX_MODELS = ['flux-general-en', 'flux-general-multi'];
const FLUX_PARAMETERS = new Set([
  'model',
  'encoding',
  'sample_rate',
  'eot_threshold',
  'eager_eot_threshold',
  'eot_timeout_ms',
  'keyterm',
  'language_hint',
  'numerals',
  'profanity_filter',
  'redact',
  'mip_opt_out',
  'tag',
]);
const DEFAULT_ENDPOINTING_MS = 10;

/** @throws QueryError as the vendor refuses the upgrade */
export function parseNovaQuery(query: URLSearchParams): NovaQuery {
  const model = query.get('model') ?? 'base-general';
  if (model.startsWith('flux')) {
    throw new QueryError(`The model ${model} is not available on /v1/listen. Use /v2/listen.`, 'Bad Request');
  }
  if (!NOVA_MODELS.test(model)) {
    throw new QueryError('No such model/language/tier combination found.', 'Bad Request');
  }
  if (model.startsWith('nova-3') && query.has('keywords')) {
    throw new QueryError('Keywords are not supported for Nova-3. Use keyterm.', 'Bad Request');
  }
  if (!model.startsWith('nova-3') && query.has('keyterm')) {
    throw new QueryError('Keyterm is only supported for Nova-3. Use keywords.', 'Bad Request');
  }
  for (const name of BOOLEANS) flag(query, name);
  const channels = integer(query, 'channels', 1, 20) ?? 1;
  if (channels > 1 && !flag(query, 'multichannel')) {
    throw new QueryError('This emulator supports several channels only with multichannel=true.');
  }
  const endpointing = query.get('endpointing');
  return {
    model,
    format: rawFormat(query),
    channels,
    interimResults: flag(query, 'interim_results'),
    endpointingMs:
      endpointing === 'false'
        ? undefined
        : endpointing === 'true'
          ? DEFAULT_ENDPOINTING_MS
          : (integer(query, 'endpointing', 0, 60_000) ?? DEFAULT_ENDPOINTING_MS),
    utteranceEndMs: integer(query, 'utterance_end_ms', 0, 60_000),
    vadEvents: flag(query, 'vad_events'),
    punctuate: flag(query, 'punctuate') || flag(query, 'smart_format') || flag(query, 'dictation'),
    holdsEntities: flag(query, 'smart_format') && !flag(query, 'no_delay'),
    tag: query.get('tag') ?? undefined,
  };
}

/** @throws QueryError as the vendor refuses the upgrade; foreign parameters are refused too */
export function parseFluxQuery(query: URLSearchParams): FluxQuery {
  for (const name of query.keys()) {
    if (!FLUX_PARAMETERS.has(name)) throw new QueryError(`Unknown query parameter: ${name}.`);
  }
  const model = query.get('model');
  if (model === null || !FLUX_MODELS.includes(model)) {
    throw new QueryError(`The model must be one of ${FLUX_MODELS.join(', ')}.`);
  }
  const languageHints = query.getAll('language_hint');
  if (languageHints.length > 0 && model !== 'flux-general-multi') {
    throw new QueryError('language_hint is only supported for flux-general-multi.');
  }
  for (const name of ['numerals', 'profanity_filter', 'mip_opt_out']) flag(query, name);
  const thresholds = checkThresholds({
    eot_threshold: number(query, 'eot_threshold') ?? 0.7,
    eager_eot_threshold: number(query, 'eager_eot_threshold') ?? null,
    eot_timeout_ms: number(query, 'eot_timeout_ms') ?? 5000,
  });
  return {
    model,
    format: rawFormat(query),
    thresholds,
    keyterms: query.getAll('keyterm'),
    languageHints,
    tag: query.get('tag') ?? undefined,
  };
}

/** @throws QueryError for values outside the documented ranges */
export function checkThresholds(thresholds: FluxThresholds): FluxThresholds {
  const { eot_threshold: end, eager_eot_threshold: eager, eot_timeout_ms: timeoutMs } = thresholds;
  if (!(end >= 0.5 && end <= 1)) throw new QueryError('eot_threshold must be between 0.5 and 1.0.');
  if (eager !== null && !(eager >= 0.3 && eager <= 0.9)) {
    throw new QueryError('eager_eot_threshold must be between 0.3 and 0.9.');
  }
  if (!(Number.isInteger(timeoutMs) && timeoutMs >= 500 && timeoutMs <= 60_000)) {
    throw new QueryError('eot_timeout_ms must be a whole number between 500 and 60000.');
  }
  return thresholds;
}

function rawFormat(query: URLSearchParams): RawFormat | undefined {
  const name = query.get('encoding');
  if (name === null) return undefined;
  const encoding = RAW_ENCODINGS.find((one) => one === name);
  if (!encoding) throw new QueryError(`This emulator decodes ${RAW_ENCODINGS.join(', ')}, not ${name}.`);
  const sampleRate = integer(query, 'sample_rate', 4000, 192_000);
  if (sampleRate === undefined) throw new QueryError('sample_rate is required with encoding.');
  return { encoding, sampleRate };
}

function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  if (value === null || value === 'false') return false;
  // `diarize` and its like take `true` alone; an empty value counts as a mistake.
  if (value === 'true') return true;
  throw new QueryError(`Failed to deserialize query parameters: ${name} must be true or false.`);
}

function number(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) {
    throw new QueryError(`Failed to deserialize query parameters: ${name} must be a number.`);
  }
  return value;
}

function integer(query: URLSearchParams, name: string, min: number, max: number): number | undefined {
  const value = number(query, name);
  if (value === undefined) return undefined;
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new QueryError(
      `Failed to deserialize query parameters: ${name} must be a whole number from ${min} to ${max}.`,
    );
  }
  return value;
}
