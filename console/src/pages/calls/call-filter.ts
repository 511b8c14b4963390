import type { paths } from '../../api/schema.d.ts';
import { DIRECTION_WORDS, FAILURE_WORDS, HANGUP_WORDS, STATUS_WORDS } from './call-words.ts';
import { startOfDay } from './day-start.ts';

/** Filters that take several values, any of which fits. */
export const LIST_FILTERS = [
  'status',
  'direction',
  'agent_id',
  'campaign_id',
  'phone_number',
  'hangup_reason',
  'failure_reason',
  'outcome',
  'goal_status',
  'language',
  'user_identifier',
] as const;
export type ListFilter = (typeof LIST_FILTERS)[number];

/** Stretches of time up to now. */
export const PERIODS = ['today', '24h', '7d', '30d'] as const;
export type Period = (typeof PERIODS)[number];

export const SORTS = ['-created_at', 'created_at', '-duration_seconds', 'duration_seconds'] as const;
export type CallSort = (typeof SORTS)[number];

/** What the list of calls is narrowed to, as it stands in the address. */
export interface CallFilter extends Partial<Record<ListFilter, string[]>> {
  /** A number or its end, or words of who the caller is. */
  q?: string;
  /** Words that were all said in the call, by either side. */
  transcript?: string;
  agent_version?: number;
  /** In seconds, both included. */
  min_duration?: number;
  max_duration?: number;
  period?: Period;
  /** RFC 3339; a period goes before them. */
  after?: string;
  before?: string;
  sort?: CallSort;
}

const MAX_VALUES = 50;

/** Reads what stands in an address. What is not understood there is left out. */
export function readCallFilter(search: Readonly<Record<string, unknown>>): CallFilter {
  const filter: CallFilter = {};
  for (const name of LIST_FILTERS) {
    const values = [search[name]]
      .flat()
      .map(asText)
      .filter((value) => value !== '');
    if (values.length > 0) filter[name] = [...new Set(values)].slice(0, MAX_VALUES);
  }
  const q = asText(search['q']).slice(0, 100);
  if (q !== '') filter.q = q;
  const transcript = asText(search['transcript']).slice(0, 200);
  if (transcript !== '') filter.transcript = transcript;
  const version = wholeNumber(search['agent_version']);
  if (version !== undefined && version >= 1) filter.agent_version = version;
  const [least, most] = [wholeNumber(search['min_duration']), wholeNumber(search['max_duration'])];
  if (least !== undefined) filter.min_duration = least;
  if (most !== undefined) filter.max_duration = most;
  const period = PERIODS.find((one) => one === search['period']);
  if (period) filter.period = period;
  for (const name of ['after', 'before'] as const) {
    const time = asText(search[name]);
    if (time !== '' && !Number.isNaN(Date.parse(time))) filter[name] = new Date(time).toISOString();
  }
  const sort = SORTS.find((one) => one === search['sort']);
  if (sort && sort !== '-created_at') filter.sort = sort;
  return filter;
}

/** How many filters are set; the order is none. */
export function countFilters({ sort: _, ...filters }: CallFilter): number {
  return Object.keys(filters).length;
}

/** A filter as the API takes it, without `limit` and place. */
export type CallQuery = Omit<
  NonNullable<paths['/v1/orgs/{org_id}/projects/{project_id}/sessions']['get']['parameters']['query']>,
  'limit' | 'offset' | 'detail'
>;

const known = (words: object) => (value: string) => Object.hasOwn(words, value);

/** Of the filters that do not take any text: whether the API takes this one. */
const TAKEN: Partial<Record<ListFilter, (value: string) => boolean>> = {
  status: known(STATUS_WORDS),
  direction: known(DIRECTION_WORDS),
  hangup_reason: known(HANGUP_WORDS),
  failure_reason: known(FAILURE_WORDS),
  agent_id: (value) => /^agt_[0-9a-z]{26}$/.test(value),
  campaign_id: (value) => /^cmp_[0-9a-z]{26}$/.test(value),
  phone_number: (value) => /^\+[1-9]\d{6,14}$/.test(value),
  language: (value) => value.length >= 2,
};

/** The API takes no more. */
const MAX_WORDS = 16;

/** Letters or digits: without either there is nothing to look for. */
const SEARCHABLE = /[\p{L}\p{N}]/u;

/** @param now milliseconds since the epoch @param timezone whose midnight `today` begins at */
export function toCallQuery(filter: CallFilter, now: number, timezone: string): CallQuery {
  const query: CallQuery = {};
  // What is half typed yet is no reason for an error.
  for (const name of LIST_FILTERS) {
    const values = filter[name]?.filter(TAKEN[name] ?? (() => true)) ?? [];
    if (values.length > 0) Object.assign(query, { [name]: values });
  }
  if (filter.q !== undefined && SEARCHABLE.test(filter.q)) query.q = filter.q;
  if (filter.transcript !== undefined && SEARCHABLE.test(filter.transcript))
    query.transcript = filter.transcript.split(/\s+/).slice(0, MAX_WORDS).join(' ');
  if (filter.agent_version !== undefined) query.agent_version = filter.agent_version;
  const { min_duration: least, max_duration: most } = filter;
  if (least !== undefined) query.min_duration_seconds = least;
  if (most !== undefined && (least === undefined || most >= least)) query.max_duration_seconds = most;
  Object.assign(query, timesOf(filter, now, timezone));
  if (filter.sort) query.sort = filter.sort;
  return query;
}

/** The times of a filter, as lists of the API take them. */
function timesOf(
  filter: Pick<CallFilter, 'period' | 'after' | 'before'>,
  now: number,
  timezone: string,
): { created_after?: string; created_before?: string } {
  const { period, after, before } = filter;
  if (period !== undefined)
    return { created_after: new Date(periodStart(period, now, timezone)).toISOString() };
  return {
    ...(after !== undefined && { created_after: after }),
    ...(before !== undefined && (after === undefined || before >= after) && { created_before: before }),
  };
}

const HOUR = 3_600_000;

function periodStart(period: Period, now: number, timezone: string): number {
  if (period === 'today') return startOfDay(now, timezone);
  // Steps of a minute, so that the same list is asked for again, and not one a little later each time.
  const minute = Math.floor(now / 60_000) * 60_000;
  return minute - { '24h': 24, '7d': 7 * 24, '30d': 30 * 24 }[period] * HOUR;
}

/** `90`, `1:30`, `1m30s`, `2m`, `1h`: seconds. @returns undefined for what is no duration */
export function parseDuration(text: string): number | undefined {
  const trimmed = text.trim().toLowerCase();
  const clock = /^(?:(\d{1,3}):)?(\d{1,4}):(\d{2})$/.exec(trimmed);
  if (clock) return Number(clock[1] ?? 0) * 3600 + Number(clock[2]) * 60 + Number(clock[3]);
  const units = /^(?:(\d{1,3})\s*h)?\s*(?:(\d{1,5})\s*m(?:in)?)?\s*(?:(\d{1,6})\s*s?)?$/.exec(trimmed);
  if (!units || trimmed === '') return undefined;
  return Number(units[1] ?? 0) * 3600 + Number(units[2] ?? 0) * 60 + Number(units[3] ?? 0);
}

/** What the address reader has made of numbers and words is a text again. */
function asText(value: unknown): string {
  if (typeof value === 'string') return value.trim();
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= 10_000_000
    ? number
    : undefined;
}
