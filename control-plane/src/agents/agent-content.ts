import { ValidationError } from '@parley/shared/errors/app-error';
import type { ModelCatalog } from '../providers/model-catalog.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { fillConfig } from './agent-config-input.ts';
import { CONTENT_FIELDS } from './agent-model.ts';
import type { AgentContent } from './agent-record.ts';
import { checkContent } from './agent-references.ts';
import type { NamedRecords } from './agent-references.ts';

/** Makes sure that what an agent is to be can be. */
export class AgentContents {
  readonly #models: ModelCatalog;
  readonly #named: NamedRecords;

  constructor(deps: { models: ModelCatalog; named: NamedRecords }) {
    this.#models = deps.models;
    this.#named = deps.named;
  }

  /**
   * @param options.before content that was accepted earlier: its models may meanwhile be switched off
   * @throws ValidationError with all that is wrong
   */
  async check(
    scope: Scope,
    content: AgentContent,
    full: ReturnType<typeof fillConfig>,
    options: { before?: AgentContent } = {},
  ): Promise<void> {
    const details = await checkContent(scope, this.#models, this.#named, content, full, options.before);
    if (details.length > 0) throw new ValidationError(details);
  }
}

export function versionId(agentId: string, version: number): string {
  return `${agentId}.${version}`;
}

export function toContent(agent: AgentContent): AgentContent {
  return Object.fromEntries(CONTENT_FIELDS.map((field) => [field, agent[field]])) as unknown as AgentContent;
}

/** As JSON has it: no undefined fields, no prototypes. */
export function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
