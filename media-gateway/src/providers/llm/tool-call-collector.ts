import { randomUUID } from 'node:crypto';
import type { LlmToolCall } from './llm-provider.ts';

/** A fragment as servers send it; none of it can be relied on. */
export interface ToolCallDelta {
  index?: number | null | undefined;
  id?: string | null | undefined;
  function?: { name?: string | null | undefined; arguments?: unknown } | null | undefined;
}

interface OpenCall {
  index: number | undefined;
  id: string;
  name: string;
  arguments: string;
}

/**
 * Puts tool calls together from the fragments of a stream. OpenAI's own come keyed by `index`; compatible servers
 * send whole calls, all with index 0 or none, a new `id` with every fragment, or arguments as an object.
 */
export class ToolCallCollector {
  readonly #calls: OpenCall[] = [];

  get isEmpty(): boolean {
    return this.#calls.length === 0;
  }

  add(delta: ToolCallDelta): void {
    const name = delta.function?.name ?? '';
    const call = this.#find(delta, name) ?? this.#open(delta);
    if (call.name === '') call.name = name;
    call.arguments += argumentText(delta.function?.arguments);
  }

  /** @param onlyComplete the answer was cut off: leaves out calls whose arguments are no JSON */
  finish({ onlyComplete }: { onlyComplete: boolean }): LlmToolCall[] {
    return this.#calls
      .filter((call) => call.name !== '' && (!onlyComplete || isJson(call.arguments)))
      .map((call) => ({ id: call.id, name: call.name, arguments: call.arguments || '{}' }));
  }

  #find({ index, id }: ToolCallDelta, name: string): OpenCall | undefined {
    const known =
      typeof index === 'number'
        ? this.#calls.findLast((call) => call.index === index)
        : (this.#calls.findLast((call) => id && call.id === id) ??
          (name === '' ? this.#calls.at(-1) : undefined));
    if (!known || name === '' || !id || id === known.id || known.name === '') return known;
    // Another id and a name: a call of its own that shares the index, unless the one before is not complete.
    const another = isJson(known.arguments) || (known.arguments === '' && name !== known.name);
    return another ? undefined : known;
  }

  #open({ index, id }: ToolCallDelta): OpenCall {
    const call = {
      index: index ?? undefined,
      id: id || `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
      name: '',
      arguments: '',
    };
    this.#calls.push(call);
    return call;
  }
}

function argumentText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
