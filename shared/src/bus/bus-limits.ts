/** A gateway is known this long after its last beat. */
export const GATEWAY_TTL_MS = 15_000;
/** A call counts as held this long after its gateway said so. */
export const CALL_TTL_MS = 30_000;
/** Commands a gateway did not read are kept this long after the last of them. */
export const COMMANDS_TTL_MS = 60 * 60 * 1000;
/** Commands kept for one gateway; the oldest go first. */
export const MAX_COMMANDS = 10_000;
/** Live events that are kept in one partition, for those who read a moment late; the oldest go first. */
export const MAX_LIVE_ENTRIES = 10_000;
/** Live events are kept this long after the last of them. */
export const LIVE_TTL_MS = 10 * 60 * 1000;
/** Given-up events that are kept; the oldest go first. */
export const MAX_DEAD_EVENTS = 10_000;
/** How much of its lateness a pace makes up for, so that a busy process does not slow it down. */
export const PACE_CATCH_UP_MS = 100;
/** Streams the events are spread over, if not said otherwise (`EVENT_PARTITIONS`). */
export const DEFAULT_PARTITIONS = 8;
