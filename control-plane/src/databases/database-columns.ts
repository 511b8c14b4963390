import { z } from 'zod';

export const COLUMN_TYPES = ['text', 'number', 'boolean', 'datetime', 'phone', 'enum', 'json'] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];

/** What a session says of itself, and what a column may be filled with by `source: session`. */
export const SESSION_PATHS = [
  'id',
  'agent_id',
  'agent_version',
  'channel',
  'direction',
  'provider',
  'status',
  'from_number',
  'to_number',
  'user_identifier',
  'language',
  'created_at',
  'started_at',
  'ended_at',
  'duration_seconds',
  'agent_duration_seconds',
  'transfer_duration_seconds',
  'ended_by',
  'hangup_reason',
  'failure_reason',
  'answered_by',
  'outcome',
  'message_count',
  'attempt_number',
  'campaign_id',
  'contact_id',
  'recording_id',
] as const;

/** What the lead analysis says of a session, by the names of the call-ended webhook. */
export const LEAD_PATHS = [
  'customer_name',
  'mobile_number',
  'email',
  'company_name',
  'lead_source',
  'call_datetime',
  'call_duration',
  'call_status',
  'call_direction',
  'lead_status',
  'lead_temperature',
  'ai_summary',
  'lead_score',
  'next_action',
  'next_follow_up_date',
  'crm_stage',
  'send_whatsapp',
  'send_email',
  'reminder_to_sales_team',
  'goal_status',
] as const;

/** Where the value of a column comes from when a session becomes a row. */
export type ColumnSource =
  | { from: 'session'; path: (typeof SESSION_PATHS)[number] }
  | { from: 'lead'; path: (typeof LEAD_PATHS)[number] }
  | { from: 'analysis'; analysis_id: string; path: string }
  | { from: 'variable'; path: string }
  | { from: 'manual' };

export interface Column {
  key: string;
  label: string;
  type: ColumnType;
  /** Values of an `enum`; none for other types. */
  options: string[];
  source: ColumnSource;
}

export const MAX_TEXT = 10_000;
export const MAX_JSON_CHARACTERS = 20_000;

const instant = z.iso.datetime({ offset: true });
const phone = z.string().regex(/^\+[1-9]\d{6,14}$/);

/** A value as it is stored, or what is wrong with it. */
export type Parsed = { value: unknown } | { msg: string; type: string };

/** A value that a client sent for a column. Null stands for no value and is not asked about here. */
export function parseValue({ type, options }: Pick<Column, 'type' | 'options'>, sent: unknown): Parsed {
  switch (type) {
    case 'text':
      if (typeof sent !== 'string') return { msg: 'must be a text', type: 'string_type' };
      if (sent.length > MAX_TEXT)
        return { msg: `must have at most ${MAX_TEXT} characters`, type: 'string_too_long' };
      return { value: sent };
    case 'number':
      return typeof sent === 'number' && Number.isFinite(sent)
        ? { value: sent }
        : { msg: 'must be a number', type: 'float_type' };
    case 'boolean':
      return typeof sent === 'boolean'
        ? { value: sent }
        : { msg: 'must be true or false', type: 'bool_type' };
    case 'datetime': {
      const time = instant.safeParse(sent).success ? new Date(sent as string).toISOString() : '';
      // Years beyond four digits have another form, and so no place in the order.
      return time.length === 24
        ? { value: time }
        : { msg: 'must be a time such as 2026-01-31T09:30:00Z', type: 'datetime_parsing' };
    }
    case 'phone':
      return phone.safeParse(sent).success
        ? { value: sent }
        : { msg: 'must be a phone number in E.164 form', type: 'string_pattern_mismatch' };
    case 'enum':
      return typeof sent === 'string' && options.includes(sent)
        ? { value: sent }
        : { msg: 'must be one of the options of the column', type: 'enum' };
    case 'json':
      return JSON.stringify(sent).length <= MAX_JSON_CHARACTERS
        ? { value: sent }
        : { msg: `must have at most ${MAX_JSON_CHARACTERS} characters as JSON`, type: 'string_too_long' };
  }
}

/** A value that is written as text, as in a CSV file or a filter. */
export function parseText(column: Pick<Column, 'type' | 'options'>, text: string): Parsed {
  switch (column.type) {
    case 'number':
      return parseValue(column, /^\s*[+-]?(\d|\.\d)[\d.]*(e[+-]?\d+)?\s*$/i.test(text) ? Number(text) : text);
    case 'boolean':
      return parseValue(column, BOOLEANS.get(text.trim().toLowerCase()) ?? text);
    case 'json':
      try {
        return parseValue(column, JSON.parse(text));
      } catch {
        return { msg: 'must be JSON', type: 'json_invalid' };
      }
    case 'datetime':
    case 'phone':
      return parseValue(column, text.trim());
    default:
      return parseValue(column, text);
  }
}

const BOOLEANS = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
]);

/** What a session has for a column, in the column's type as far as it goes; null when it does not. */
export function fittingValue(column: Column, found: unknown): unknown {
  if (found === undefined || found === null || found === '') return null;
  const value = found instanceof Date ? found.toISOString() : found;
  const parsed =
    column.type === 'text'
      ? parseValue(column, asText(value).replaceAll('\0', '').slice(0, MAX_TEXT))
      : typeof value === 'string' && column.type !== 'json'
        ? parseText(column, DATE.test(value) && column.type === 'datetime' ? `${value}T00:00:00Z` : value)
        : parseValue(column, value);
  return 'value' in parsed ? parsed.value : null;
}

const DATE = /^\d{4}-\d\d-\d\d$/;

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
