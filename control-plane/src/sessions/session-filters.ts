import { z } from 'zod';
import {
  carrierSchema,
  channelSchema,
  directionSchema,
  FAILURE_REASONS,
  HANGUP_REASONS,
  SESSION_STATUSES,
  type Channel,
  type Direction,
} from '@parley/shared/contracts/session-values';
import { anyOf, commonFilter, equalities, queryInteger, queryTime } from '../http/list-query.ts';
import { idSchema } from '../http/operation.ts';
import { invalid } from '../http/validation.ts';
import type { Filter, Scope } from '../tenancy/scope.ts';
import { sessionCollection } from './session-model.ts';
import type { SessionRecord } from './session-record.ts';
import { searchedWords } from './session-words.ts';
import { saying, transcriptQuery } from './transcript-search.ts';

const duration = queryInteger(0, 10_000_000).optional();

/** What sessions can be narrowed to, besides the time when they were made. */
export const sessionFilters = {
  status: anyOf(z.enum(SESSION_STATUSES)).optional(),
  channel: anyOf(channelSchema).optional(),
  direction: anyOf(directionSchema).optional(),
  provider: anyOf(carrierSchema).optional(),
  agent_id: anyOf(idSchema('agt')).optional(),
  agent_version: queryInteger(1, 1_000_000_000).optional(),
  campaign_id: anyOf(idSchema('cmp')).optional(),
  phone_number: anyOf(z.string().regex(/^\+[1-9]\d{6,14}$/)).optional(),
  user_identifier: anyOf(z.string().min(1).max(255)).optional(),
  language: anyOf(z.string().min(2).max(35)).optional(),
  goal_status: anyOf(z.string().min(1).max(40)).optional(),
  test_run_id: anyOf(idSchema('trn')).optional(),
  started_after: queryTime.optional(),
  started_before: queryTime.optional(),
  failure_reason: anyOf(z.enum(FAILURE_REASONS)).optional().meta({
    description: 'Only sessions that failed for this reason; several: for one of them.',
  }),
  hangup_reason: anyOf(z.enum(HANGUP_REASONS)).optional().meta({
    description: 'Only sessions that ended so; several: in one of these ways.',
  }),
  outcome: anyOf(z.string().min(1).max(500)).optional().meta({
    description: 'Only sessions with this outcome; several: with one of them.',
  }),
  min_duration_seconds: duration.meta({ description: 'Only sessions of so many seconds or more.' }),
  max_duration_seconds: duration.meta({ description: 'Only sessions of so many seconds or less.' }),
  q: z
    .string()
    .min(1)
    .max(100)
    .refine((text) => searchedWords(text).length > 0, 'must have a letter or a digit')
    .optional()
    .meta({
      description:
        "A telephone number or its end, four digits or more, in any notation; or words of the caller's " +
        '`user_identifier`, or of the variables `name` and `external_id` that the session was made with, all of which ' +
        'must occur. Upper and lower case are the same.',
    }),
  transcript: transcriptQuery.optional(),
};

export type SessionFilters = z.output<z.ZodObject<typeof sessionFilters>> & {
  created_after?: Date | undefined;
  created_before?: Date | undefined;
};

const DIRECTIONS: Record<Channel, readonly Direction[]> = {
  web: ['web'],
  telephony: ['inbound', 'outbound'],
};

function directionsOf(channels: readonly Channel[]): Direction[] {
  return channels.flatMap((channel) => DIRECTIONS[channel]);
}

/** No session starts before it is made, nor later than this after it. */
const LONGEST_WAIT_MS = 8 * 24 * 3_600_000;

/** A range of starts, and the range of creations it implies: lists are read in the order of creation. */
function startedBetween(
  list: Pick<SessionFilters, 'created_after' | 'created_before'>,
  after: Date | undefined,
  before: Date | undefined,
) {
  if (!after && !before) return {};
  const { created_after, created_before } = list;
  const earliest = [created_after, after && new Date(after.getTime() - LONGEST_WAIT_MS)];
  const latest = [created_before, before];
  const from = Math.max(...earliest.map((time) => time?.getTime() ?? -Infinity));
  const until = Math.min(...latest.map((time) => time?.getTime() ?? Infinity));
  return {
    started_at: { ...(after && { $gte: after }), ...(before && { $lt: before }) },
    created_at: {
      ...(Number.isFinite(from) && { $gte: new Date(from) }),
      ...(Number.isFinite(until) && { $lt: new Date(until) }),
    },
  };
}

/** A range of durations, both ends included. @throws ValidationError */
function lasting(least: number | undefined, most: number | undefined) {
  if (least === undefined && most === undefined) return {};
  if (least !== undefined && most !== undefined && least > most)
    throw invalid(['query', 'max_duration_seconds'], 'must not be below min_duration_seconds');
  return {
    duration_seconds: {
      ...(least !== undefined && { $gte: least }),
      ...(most !== undefined && { $lte: most }),
    },
  };
}

/** The sessions that are left, for the database. @throws ValidationError */
export async function sessionFilter(
  scope: Scope,
  { q, transcript, test_run_id, ...filters }: SessionFilters,
): Promise<Filter<SessionRecord>> {
  const { phone_number: numbers, started_after, started_before } = filters;
  const listed = {
    ...commonFilter({ ...filters, limit: 1, offset: 0, sort: '' }),
    // Sessions of test runs are seen only by those who ask for them.
    test_run_id: test_run_id ? { $in: test_run_id } : null,
    // Those of whom callers are transferred to are parts of the callers' own.
    parent_session_id: null,
    ...startedBetween(filters, started_after, started_before),
  };
  const sessions = scope.collection(sessionCollection);
  const also = [
    ...(filters.channel ? [{ direction: { $in: directionsOf(filters.channel) } }] : []),
    ...(q === undefined ? [] : searchedWords(q)).map((word) => ({ words: word })),
    ...(transcript === undefined ? [] : await saying(sessions, transcript, listed)),
  ];
  return {
    ...listed,
    ...equalities({
      status: filters.status,
      channel: filters.channel,
      direction: filters.direction,
      provider: filters.provider,
      agent_id: filters.agent_id,
      agent_version: filters.agent_version,
      campaign_id: filters.campaign_id,
      user_identifier: filters.user_identifier,
      language: filters.language,
      goal_status: filters.goal_status,
      failure_reason: filters.failure_reason,
      hangup_reason: filters.hangup_reason,
      outcome: filters.outcome,
    }),
    ...(numbers ? { numbers: { $in: numbers } } : {}),
    ...lasting(filters.min_duration_seconds, filters.max_duration_seconds),
    ...(also.length > 0 && { $and: also }),
  };
}
