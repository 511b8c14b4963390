import type { FlowDefinition } from '@parley/shared/contracts/flow-definition';
import type { FlowState } from '@parley/shared/contracts/flow-state';
import type { FlowEffect, FlowInput } from './flow-effects.ts';
import { toFlowGraph } from './flow-graph.ts';
import { step } from './flow-step.ts';

/** Walks through flows by lists of inputs, for tests. */

export const start: FlowInput = { type: 'start', greeted: false };
export const turn: FlowInput = { type: 'turn' };
export const played: FlowInput = { type: 'played' };
export const press = (digits: string): FlowInput => ({ type: 'keys', digits });
export const take = (by: 'edge' | 'global', id: string): FlowInput => ({ type: 'route', choice: { by, id } });
export const goBack: FlowInput = { type: 'route', choice: { by: 'return' } };
export const stay: FlowInput = { type: 'route', choice: null };

/** An effect in a few words. */
function told(effect: FlowEffect): string {
  switch (effect.type) {
    case 'enter':
      return `${effect.by} ${effect.node.id}`;
    case 'assign':
      return Object.entries(effect.variables)
        .map((one) => one.join('='))
        .join(' ');
    case 'missing':
      return `missing ${effect.name}`;
    case 'say':
      return `${effect.assetId === null ? '' : `${effect.assetId} `}"${effect.text}"${effect.interruptible ? '' : '!'}`;
    case 'reply':
      return 'reply';
    case 'tool':
      return `run ${effect.toolId} ${JSON.stringify(effect.arguments)}`;
    case 'wait':
      return `wait ${effect.seconds}${effect.holdAssetId === null ? '' : ` ${effect.holdAssetId}`}`;
    case 'transfer':
      return `transfer ${typeof effect.to === 'string' ? effect.to : `to ${effect.to.id}`}`;
    case 'ask':
      return `ask for a yes${effect.again ? ' again' : ''} to ${effect.toolId} ${JSON.stringify(effect.arguments)}`;
    case 'answered':
      return effect.answer;
    case 'task':
      return `(${effect.text.replace(' Ask for nothing else.', '')})`;
    case 'read':
      return `read ${effect.fields.map(({ name }) => name).join(', ')}${effect.options.length > 0 ? ' or go on' : ''}`;
    case 'hand_over':
      return `hand over to ${effect.node.agent_id}`;
    case 'route':
      return `ask ${effect.options.map(({ route }) => (route.by === 'return' ? 'return' : route.id)).join(', ')}`;
    case 'end':
      return `end${effect.message === undefined ? '' : ` "${effect.message}"`}`;
    case 'fail':
      return effect.code;
  }
}

/** What a list of inputs leads to, each with its effects. */
export function run(
  definition: FlowDefinition,
  inputs: FlowInput[],
  variables: Record<string, string> = {},
  confirmed: readonly string[] = [],
) {
  const graph = toFlowGraph(definition, 'agt_1', new Set(confirmed));
  let state: FlowState | undefined;
  const known = { ...variables };
  const steps = inputs.map((input) => {
    // A step that wrote into the state it was given would throw.
    for (const part of [state, ...Object.values(state ?? {})]) Object.freeze(part);
    const stepped = step(graph, state, input, (name) => known[name]);
    state = stepped.state;
    for (const effect of stepped.effects)
      if (effect.type === 'assign') Object.assign(known, effect.variables);
    return stepped.effects.map(told).join(', ');
  });
  return { steps, state: state!, variables: known };
}
