import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { LiveFeed } from './live-feed.ts';
import { LivePublisher } from './live-publisher.ts';
import { LiveStreams } from './live-streams.ts';

/** What is told of sessions while they run, to whoever follows them. */
export function createLive(deps: Pick<Platform, 'bus' | 'clock' | 'logger'>) {
  const feed = new LiveFeed(deps);
  const livePublisher = new LivePublisher(deps);
  const liveStreams = new LiveStreams({ ...deps, feed });
  return { ...{ livePublisher, liveStreams }, owns: [feed] } satisfies Feature & {
    liveStreams: LiveStreams;
  };
}
