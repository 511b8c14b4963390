import { readCallFilter } from './call-filter.ts';
import type { CallFilter } from './call-filter.ts';
import { readColumns } from './call-columns.ts';
import type { CallColumn } from './call-columns.ts';

/** A named filter of the list of calls with its columns. Kept in this browser. */
export interface SavedView {
  name: string;
  filter: CallFilter;
  columns: CallColumn[];
}

const MAX_VIEWS = 50;
const MAX_NAME = 60;

type Store = Pick<Storage, 'getItem' | 'setItem'>;

const keyOf = (projectId: string) => `parley.calls.views.${projectId}`;
const columnsKey = 'parley.calls.columns';

/** The views of a project. What is stored may be of another version, or not ours. */
export function loadViews(store: Store, projectId: string): SavedView[] {
  const stored = read(store, keyOf(projectId));
  if (!Array.isArray(stored)) return [];
  return stored.slice(0, MAX_VIEWS).flatMap((view: unknown) => {
    if (typeof view !== 'object' || view === null) return [];
    const { name, filter, columns } = view as Record<string, unknown>;
    if (typeof name !== 'string' || typeof filter !== 'object' || filter === null) return [];
    return [
      {
        name: name.slice(0, MAX_NAME),
        filter: readCallFilter(filter as Record<string, unknown>),
        columns: readColumns(columns),
      },
    ];
  });
}

/** Adds a view, or replaces the one of the same name. @returns all of them */
export function saveView(store: Store, projectId: string, view: SavedView): SavedView[] {
  const named = { ...view, name: view.name.trim().slice(0, MAX_NAME) };
  const others = loadViews(store, projectId).filter(({ name }) => name !== named.name);
  return write(store, projectId, [...others, named].slice(-MAX_VIEWS));
}

export function removeView(store: Store, projectId: string, name: string): SavedView[] {
  return write(
    store,
    projectId,
    loadViews(store, projectId).filter((view) => view.name !== name),
  );
}

export function loadColumns(store: Store): CallColumn[] {
  return readColumns(read(store, columnsKey));
}

export function saveColumns(store: Store, columns: readonly CallColumn[]): void {
  put(store, columnsKey, columns);
}

function write(store: Store, projectId: string, views: SavedView[]): SavedView[] {
  put(store, keyOf(projectId), views);
  return views;
}

function read(store: Store, key: string): unknown {
  try {
    return JSON.parse(store.getItem(key) ?? 'null');
  } catch {
    return null;
  }
}

/** A browser that keeps nothing is no reason to fail. */
function put(store: Store, key: string, value: unknown): void {
  try {
    store.setItem(key, JSON.stringify(value));
  } catch {
    // The views hold until the page is closed.
  }
}
