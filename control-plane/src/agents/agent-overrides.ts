import { z } from 'zod';
import { agentConfigSchema } from '@parley/shared/contracts/agent-config';
import { ValidationError } from '@parley/shared/errors/app-error';
import type { ValidationDetail } from '@parley/shared/errors/app-error';
import { patchOf } from '../http/patch-schema.ts';
import type { ModelCatalog } from '../providers/model-catalog.ts';
import type { SessionAgent } from '../sessions/session-agent.ts';
import { OVERRIDABLE_SETTINGS, raisedLimits, withOverrides } from '../sessions/session-overrides.ts';
import type { LowerableLimit, Overrides } from '../sessions/session-overrides.ts';
import type { Scope } from '../tenancy/scope.ts';
import { describeConfig } from './agent-config-texts.ts';
import { checkContent } from './agent-references.ts';
import type { NamedRecords } from './agent-references.ts';
import { agentFields } from './agent-schema.ts';
import { checkInstalledParts } from './installed-parts.ts';

const settings = pick(agentConfigSchema.shape, OVERRIDABLE_SETTINGS);
const limit = agentConfigSchema.shape.limits.unwrap().shape;
/** No null: a limit cannot be taken away. */
const limits = z
  .strictObject({
    max_duration_seconds: limit.max_duration_seconds.unwrap(),
    max_tool_steps: limit.max_tool_steps.unwrap(),
    max_cost_amount: limit.max_cost_amount.unwrap().unwrap(),
    max_concurrent_sessions: limit.max_concurrent_sessions.unwrap().unwrap(),
  } satisfies Record<LowerableLimit, z.ZodType>)
  .partial();
/** Each setting by itself; together with the agent's they are checked when the agent is known. */
const configPatch = z.strictObject({ ...patchOf(settings).shape, limits: limits.optional() });

/** `overrides` of a request, and of what keeps them. They are kept as they were sent. */
export const overridesSchema: z.ZodType<Overrides, Overrides> = z
  .strictObject({
    ...pick(agentFields, ['greeting', 'system_prompt', 'llm_id', 'stt_id', 'tts_id', 'tts_voice_id']),
    config: z
      .record(z.string(), z.unknown())
      .check((context) => {
        const { error } = configPatch.safeParse(context.value, { reportInput: true });
        for (const issue of error?.issues ?? []) context.issues.push({ ...issue } as z.core.$ZodRawIssue);
      })
      .meta({
        description:
          'Keys of AgentConfig that the call has otherwise, as a JSON merge patch on the config of the agent; null ' +
          'resets a key to its default. `limits` only below those of the agent.',
        example: { greeting: { mode: 'caller_first' } },
        override: ({ jsonSchema }: { jsonSchema: object }) => {
          const { $schema: _, ...json } = z.toJSONSchema(configPatch, {
            io: 'input',
            unrepresentable: 'any',
          });
          describeConfig(json);
          Object.assign(jsonSchema, json);
        },
      }),
  })
  .partial()
  .meta({
    id: 'Overrides',
    description: 'What the call has otherwise than its agent; what is left out is the agent’s.',
  }) as z.ZodType<Overrides, Overrides>;

/** Makes sure that an agent can run with overrides. */
export class AgentOverrides {
  readonly #models: ModelCatalog;
  readonly #named: NamedRecords;

  constructor(deps: { models: ModelCatalog; named: NamedRecords }) {
    this.#models = deps.models;
    this.#named = deps.named;
  }

  /**
   * What they name must be usable where the agent lives, and what they set must act and go together with what the
   * agent sets.
   * @returns the agent as it will run
   * @throws ValidationError with `loc` below `["body", "overrides"]`
   */
  async check(scope: Scope, agent: SessionAgent, overrides: Overrides | null): Promise<SessionAgent> {
    if (overrides === null) return agent;
    const changed = withOverrides(agent, overrides);
    const details: ValidationDetail[] = raisedLimits(agent.config.limits, overrides).map((name) => ({
      loc: ['body', 'config', 'limits', name],
      msg: `must not be above the agent's ${agent.config.limits[name]}`,
      type: 'less_than_equal',
    }));
    details.push(
      ...checkInstalledParts(changed.config, agent.config),
      ...(await checkContent(scope, this.#models, this.#named, changed, changed.config, agent)).filter(
        // What the agent names itself is not the caller's mistake.
        ({ loc: [, field, ...path] }) =>
          field !== 'flow_definition' && (field !== 'config' || names(overrides.config, path)),
      ),
    );
    if (details.length === 0) return changed;
    throw new ValidationError(
      details.map(({ loc: [body, ...loc], ...detail }) => ({ ...detail, loc: [body!, 'overrides', ...loc] })),
    );
  }
}

/** Whether a patch has something at this path, or replaces a value around it. */
function names(patch: unknown, path: readonly (string | number)[]): boolean {
  const [key, ...rest] = path;
  if (key === undefined || typeof patch !== 'object' || patch === null) return patch !== undefined;
  return names((patch as Record<string | number, unknown>)[key], rest);
}

function pick<T extends object, const K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.map((key) => [key, from[key]])) as Pick<T, K>;
}
