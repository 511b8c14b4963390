import type { Reach } from '@parley/emulators/callers/emulated-call';
import { toWebSocketUrl } from '@parley/shared/contracts/addresses';

/** What is below the public address, HTTP or WebSocket, at this process; everything else where it is. */
export function reachLocally(publicUrl: string, localUrl: string): Reach {
  const ways = [
    [publicUrl, localUrl],
    [toWebSocketUrl(publicUrl), toWebSocketUrl(localUrl)],
  ] as const;
  return (url) => {
    for (const [there, here] of ways) if (url.startsWith(`${there}/`)) return here + url.slice(there.length);
    return url;
  };
}
