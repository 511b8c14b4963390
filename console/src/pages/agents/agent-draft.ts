import { isObject } from '../../components/schema-form/form-value.ts';
import type { Json } from '../../components/schema-form/form-value.ts';

/** Changes of an agent that were not saved yet, kept in this browser. */

export interface AgentDraft {
  /** Version that was open when the first change was made. */
  version: number;
  patch: Json;
}

/** What a browser keeps; private windows may refuse. */
export interface TextStore {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

const keyOf = (agentId: string) => `parley.draft.${agentId}`;

export function readDraft(store: TextStore, agentId: string): AgentDraft | null {
  try {
    const read: unknown = JSON.parse(store.getItem(keyOf(agentId)) ?? 'null');
    if (!isObject(read) || typeof read['version'] !== 'number' || !isObject(read['patch'])) return null;
    return { version: read['version'], patch: read['patch'] };
  } catch {
    return null;
  }
}

/** @param draft null: there is nothing to keep any more */
export function writeDraft(store: TextStore, agentId: string, draft: AgentDraft | null): void {
  try {
    if (draft === null) store.removeItem(keyOf(agentId));
    else store.setItem(keyOf(agentId), JSON.stringify(withoutSecrets(draft)));
  } catch {
    // Nothing can be kept here: the page itself still has it.
  }
}

/**
 * What another tab has kept, for a tab that has a draft of its own: both show the same from then on.
 * @param own keeps the secrets that were typed here, which are never written down
 */
export function draftFromElsewhere(own: AgentDraft | null, kept: AgentDraft | null): AgentDraft | null {
  const headers = headersOf(own);
  if (kept === null || headers === undefined || headersOf(kept) !== undefined) return kept;
  const config = isObject(kept.patch['config']) ? kept.patch['config'] : {};
  const preCall = isObject(config['pre_call']) ? config['pre_call'] : {};
  return { ...kept, patch: { ...kept.patch, config: { ...config, pre_call: { ...preCall, headers } } } };
}

/** Whether a change of what this browser keeps is one of this agent's draft. */
export function isDraftOf(agentId: string, changedKey: string | null): boolean {
  return changedKey === keyOf(agentId) || changedKey === null;
}

/** Values of headers are typed once and never written down. */
function withoutSecrets(draft: AgentDraft): AgentDraft {
  const config = draft.patch['config'];
  const preCall = isObject(config) ? config['pre_call'] : undefined;
  if (!isObject(config) || !isObject(preCall) || !('headers' in preCall)) return draft;
  const { headers: _, ...rest } = preCall;
  return { ...draft, patch: { ...draft.patch, config: { ...config, pre_call: rest } } };
}

function headersOf(draft: AgentDraft | null): unknown {
  const config = draft?.patch['config'];
  const preCall = isObject(config) ? config['pre_call'] : undefined;
  return isObject(preCall) ? preCall['headers'] : undefined;
}

/** The version that callers get, to compare with: of several the one that most get. */
export function liveVersionOf(
  version: number,
  traffic: { mode: string; splits: readonly { version: number; weight: number }[] } | undefined,
): number {
  if (traffic?.mode !== 'pinned' || traffic.splits.length === 0) return version;
  return traffic.splits.toSorted((a, b) => b.weight - a.weight || b.version - a.version)[0]!.version;
}
