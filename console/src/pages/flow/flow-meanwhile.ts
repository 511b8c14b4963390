import { isEqual } from '../../components/schema-form/form-value.ts';
import type { Flow } from './flow-graph.ts';

/**
 * What others have saved since somebody began to change a flow.
 * @param began the flow at which the changes began; undefined: not known
 * @param stored the flow of the newest version
 * @returns `flow`: another flow, whose place one's own would take; `others`: other settings alone
 */
export function changedMeanwhile(began: Flow | null | undefined, stored: Flow | null): 'flow' | 'others' {
  return began !== undefined && isEqual(began, stored) ? 'others' : 'flow';
}
