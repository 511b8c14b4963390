import { z } from 'zod';
import { invalid } from '../http/validation.ts';
import { idSchema } from '../http/operation.ts';
import { e164 } from '../http/value-schemas.ts';

const MAX_MESSAGE = 1000;

/** What becomes of a call that the deployment's agent does not take. */
export const inboundActionSchema = z.strictObject({
  type: z.enum(['hangup', 'message', 'forward', 'agent']).default('hangup'),
  message: z.string().max(MAX_MESSAGE).default(''),
  forward_to: e164.nullable().default(null),
  agent_id: idSchema('agt').nullable().default(null),
});

export type InboundAction = z.output<typeof inboundActionSchema>;
export type InboundActionPatch = { [K in keyof InboundAction]?: InboundAction[K] | undefined };

export const REFUSE: InboundAction = inboundActionSchema.parse({});

/** What each type needs, and what it may have besides. */
const PARTS = {
  hangup: { needs: [], takes: [] },
  message: { needs: ['message'], takes: [] },
  forward: { needs: ['forward_to'], takes: ['message'] },
  agent: { needs: ['agent_id'], takes: [] },
} as const satisfies Record<
  InboundAction['type'],
  Record<'needs' | 'takes', readonly (keyof InboundAction)[]>
>;

/**
 * The action after a change: what another type had is dropped, and what the type of now has no use for is refused.
 * @param loc of the action in the request
 * @throws ValidationError
 */
export function changedAction(
  current: InboundAction,
  patch: InboundActionPatch,
  loc: readonly string[],
): InboundAction {
  const type = patch.type ?? current.type;
  const { needs, takes } = PARTS[type];
  const used: readonly string[] = [...needs, ...takes];
  const action = { ...REFUSE, type };
  for (const part of ['message', 'forward_to', 'agent_id'] as const) {
    const asked = patch[part];
    if (!used.includes(part)) {
      if (asked) throw invalid([...loc, part], `has no meaning for the type ${type}`);
      continue;
    }
    Object.assign(action, { [part]: asked === undefined ? current[part] : asked });
  }
  for (const part of needs)
    if (!action[part]) throw invalid([...loc, part], `is needed for the type ${type}`, 'missing');
  return action;
}
