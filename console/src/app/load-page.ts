import { reachability } from '../api/reachability.ts';

/**
 * A page's file. While the server is away it is waited for: where a file cannot be had the router loads the whole page
 * anew, which would leave the browser's own error in its place.
 */
export async function loadPage<Module>(load: () => Promise<Module>): Promise<Module> {
  for (;;) {
    try {
      return await load();
    } catch (error) {
      // The server is there without the file: it has a newer version, which the router's way gets.
      if (await answers()) throw error;
      reachability.lost();
      await reachable();
    }
  }
}

function answers(): Promise<boolean> {
  return fetch('/', { cache: 'no-store' }).then(
    () => true,
    () => false,
  );
}

function reachable(): Promise<void> {
  return new Promise((resolve) => {
    const stop = reachability.subscribe(() => {
      if (!reachability.isReachable) return;
      stop();
      resolve();
    });
  });
}
