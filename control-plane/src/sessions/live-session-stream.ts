import type { Clock } from '@parley/shared/time/clock';
import type { LiveItem, LiveSource } from '../live/live-stream.ts';
import type { Scope } from '../tenancy/scope.ts';
import { sessionCollection } from './session-model.ts';
import type { SessionRecord } from './session-record.ts';

/** Sessions that a client which was cut off is told of, those that changed last. */
const MOST_CHANGES = 200;
/** Clocks of two processes may differ. */
const CLOCKS_APART_MS = 2000;

/** Those that the list shows by itself: no tests of agents, nor calls to whom callers are transferred to. */
export const LISTED = { test_run_id: null, parent_session_id: null } as const;

/**
 * The sessions of a project for who follows them: each as it is, whenever its status has changed.
 * @param options.lastEventId of the last change that the client has
 */
export function liveSessionStream(
  scope: Scope,
  options: {
    clock: Clock;
    lastEventId?: string | undefined;
    /** A session as the list has it. */
    show: (session: SessionRecord) => object;
  },
): LiveSource {
  const { clock, show } = options;
  const sessions = scope.collection(sessionCollection);
  const toItem = (session: SessionRecord): LiveItem => {
    const id = `${session.updated_at.getTime()}.${session._id}`;
    return {
      id,
      data: { id, type: 'session', at: session.updated_at.toISOString(), session: show(session) },
    };
  };
  let since = timeOf(options.lastEventId) ?? clock.now();
  /** A client that begins has the list. */
  let isBehind = options.lastEventId !== undefined;

  return {
    topic: { projectId: scope.projectId },
    async *stored() {
      if (!isBehind) {
        isBehind = true;
        return;
      }
      const changed = await sessions.find(
        { ...LISTED, updated_at: { $gte: new Date(since - CLOCKS_APART_MS) } },
        { sort: { updated_at: -1, _id: -1 }, limit: MOST_CHANGES },
      );
      yield changed.reverse().map(toItem);
    },
    async item({ type }, sessionId) {
      if (type !== 'state') return null;
      const session = await sessions.findOne({ ...LISTED, _id: sessionId });
      if (!session) return null;
      since = Math.max(since, session.updated_at.getTime());
      return toItem(session);
    },
  };
}

/** When the change was that an id names. */
function timeOf(lastEventId: string | undefined): number | undefined {
  const time = /^(\d{1,15})\./.exec(lastEventId ?? '')?.[1];
  return time === undefined ? undefined : Number(time);
}
