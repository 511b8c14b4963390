/** What was done, to be undone: a bounded list of whole values, which share what did not change. */
export interface History<T> {
  past: readonly T[];
  present: T;
  future: readonly T[];
  /** Changes with the same word in a row are one step, such as the letters of a text. */
  group: string | null;
}

const MOST_STEPS = 200;

export function begin<T>(present: T): History<T> {
  return { past: [], present, future: [], group: null };
}

export function commit<T>(history: History<T>, present: T, group: string | null = null): History<T> {
  if (present === history.present) return history;
  if (group !== null && group === history.group) return { ...history, present, future: [] };
  return { past: [...history.past, history.present].slice(-MOST_STEPS), present, future: [], group };
}

export function undo<T>({ past, present, future, group }: History<T>): History<T> {
  const before = past.at(-1);
  if (before === undefined) return { past, present, future, group };
  return { past: past.slice(0, -1), present: before, future: [present, ...future], group: null };
}

export function redo<T>({ past, present, future, group }: History<T>): History<T> {
  const [next, ...rest] = future;
  if (next === undefined) return { past, present, future, group };
  return { past: [...past, present], present: next, future: rest, group: null };
}
