import { uuidV7 } from '@parley/shared/ids/new-id';
import type { SystemUnderTest } from './system.ts';

/**
 * A gateway that runs already, somewhere. Each call opens `url`, where `{id}` stands for a new UUID and
 * `{conversation}` for the name of what will be talked about (the tag of its speech recognition).
 */
export function openRemote({ url, ca }: { url: string; ca: string | undefined }): SystemUnderTest {
  return {
    name: new URL(url.replaceAll(/[{}]/g, '')).host,
    pids: [],
    startMs: undefined,
    reports: false,
    dial({ conversation }) {
      const sessionId = uuidV7();
      return Promise.resolve({
        url: url.replaceAll('{id}', sessionId).replaceAll('{conversation}', conversation),
        sessionId,
        ...(ca === undefined ? {} : { ca }),
      });
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
