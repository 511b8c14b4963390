import type { Feature } from '../composition/feature.ts';
import { idSchema } from '../http/operation.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { isTerminal } from '../sessions/session-states.ts';
import { replayCollection } from './replay-model.ts';
import type { ReplayRecord } from './replay-model.ts';
import { replayRoutes } from './replay-routes.ts';
import { ReplayRunner } from './replay-runner.ts';
import type { HoldConversation } from './replay-runner.ts';
import { replaySample } from './replay-sample.ts';
import { REPLAY_AUDIT, ReplayService } from './replay-service.ts';

const REPLAY_INTERVAL_MS = 5000;

type ServiceDeps = ConstructorParameters<typeof ReplayService>[0];
type RunnerDeps = ConstructorParameters<typeof ReplayRunner>[0];

/** Conversations that took place, held again with another version of their agent. */
export function createReplays(
  deps: Omit<ServiceDeps, 'wake'> &
    Omit<RunnerDeps, 'talks'> & {
      hold: HoldConversation;
      /** Forgets a session that is over. */
      eraseSession: (session: SessionRecord) => Promise<unknown>;
    },
) {
  /** Erases a session, now or when it is over. */
  async function forget(sessionId: string): Promise<void> {
    const session = await deps.store.find(sessionId);
    if (!session) return;
    if (isTerminal(session.status)) await deps.eraseSession(session);
    else await deps.store.change(session._id, { erase_at_end: true });
  }

  const replayRunner = new ReplayRunner({ ...deps, talks: { hold: deps.hold, forget } });
  const replays = new ReplayService({ ...deps, wake: () => replayRunner.wake() });
  const records = deps.database.model(replayCollection);

  /** What is kept of a session that is erased: its replays, their sessions, and what it was itself the replay of. */
  async function erase(sessionId: string): Promise<void> {
    const made = await records.find({ session_id: sessionId }).lean<ReplayRecord[]>();
    await records.deleteMany({ session_id: sessionId });
    await records.deleteMany({ replay_session_id: sessionId });
    for (const { replay_session_id: id } of made) if (id !== null) await forget(id);
  }

  return {
    ...{ replays, replayRunner },
    collections: [replayCollection],
    routes: replayRoutes(replays),
    parameters: { replay_id: idSchema('rpl').meta({ description: 'Replay.' }) },
    erases: { session: erase },
    audit: REPLAY_AUDIT,
    workers: [
      {
        name: 'replays',
        everyMs: REPLAY_INTERVAL_MS,
        work: (signal) => replayRunner.work(signal),
        wakeWith: (task) => replayRunner.wakeWith(task),
      },
    ],
    samples: [replaySample],
  } satisfies Feature & { replays: ReplayService; replayRunner: ReplayRunner };
}
