import { onlineManager } from '@tanstack/react-query';
import { apiUrl } from './page-settings.ts';

// Whether the server answers. Once it did not, queries wait, and it is asked until it does: then all that pages show is
// read again.

const ASK_EVERY_MS = 2000;

let isReachable = true;
const listeners = new Set<() => void>();

export const reachability = {
  get isReachable(): boolean {
    return isReachable;
  },

  /** @returns takes the listener away */
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },

  /** A request got no answer. */
  lost(): void {
    if (!isReachable) return;
    change(false);
    void askUntilAnswered().then(() => change(true));
  },
};

function change(next: boolean): void {
  isReachable = next;
  onlineManager.setOnline(next);
  for (const listener of listeners) listener();
}

async function askUntilAnswered(): Promise<void> {
  do await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  while (!(await answers()));
}

/** A server that is still starting lets no page read its answer. */
function answers(): Promise<boolean> {
  return fetch(`${apiUrl}/v1/me`).then(
    () => true,
    () => false,
  );
}
