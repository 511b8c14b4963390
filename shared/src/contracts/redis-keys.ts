/** Every name in Redis, in one place. */
export const redisKeys = {
  events: (partition: number) => `parley:events:${partition}`,
  deadEvents: 'parley:events:dead',
  /** Events after they were stored, and words while they are said, for those who follow calls. */
  live: (partition: number) => `parley:live:${partition}`,
  /** Living consumers of the streams, by when they end: each takes its even share of the partitions. */
  eventConsumers: 'parley:events:consumers',
  commands: (gatewayId: string) => `parley:commands:${gatewayId}`,
  gateway: (gatewayId: string) => `parley:gateway:${gatewayId}`,
  gateways: 'parley:gateways',
  call: (sessionId: string) => `parley:call:${sessionId}`,
  slots: (scope: string) => `parley:slots:${scope}`,
  /** When the next turn of a pace is, ms since the epoch. */
  pace: (scope: string) => `parley:pace:${scope}`,
  /** A channel, no key. */
  dispatch: 'parley:dispatch',
  rate: (scope: string, window: number) => `parley:rate:${scope}:${window}`,
  lease: (name: string) => `parley:lease:${name}`,
} as const;

/** The consumer group that reads the event streams. */
export const EVENTS_GROUP = 'control-plane';

/** FNV-1a, 32 bits: the same session always lands in the same partition. */
export function eventPartition(sessionId: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < sessionId.length; i++) {
    hash ^= sessionId.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return (hash >>> 0) % partitions;
}
