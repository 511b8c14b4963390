import type { LlmToolCall } from '../providers/llm/llm-provider.ts';
import type { ToolResult } from '../speech/reply.ts';

/** Says something while a tool runs. */
export type Speak = (text: string) => Promise<void>;

type Run = (speak: Speak) => Promise<ToolResult>;

/**
 * Tool calls that the next reply makes before it thinks, as if the model had made them: those that the caller has agreed
 * to, and those whose result came late.
 */
export class DueCalls {
  readonly #waiting: LlmToolCall[] = [];
  readonly #runs = new Map<string, Run>();
  #count = 0;

  get waiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** @returns the id of the call: nine letters and digits, which every model accepts */
  add(call: LlmToolCall, run: Run): string {
    const id = `late${String(++this.#count).padStart(5, '0')}`;
    this.#waiting.push({ ...call, id });
    this.#runs.set(id, run);
    return id;
  }

  /** Has the model told something about a call, as its result. @returns the id under which it is told */
  tell(call: LlmToolCall, content: string): string {
    return this.add(call, () => Promise.resolve({ content }));
  }

  /** Takes a call back that no reply has made. @returns whether it still waited */
  withdraw(id: string): boolean {
    const at = this.#waiting.findIndex((call) => call.id === id);
    if (at === -1) return false;
    this.#waiting.splice(at, 1);
    this.#runs.delete(id);
    return true;
  }

  take(): LlmToolCall[] {
    return this.#waiting.splice(0);
  }

  /** How to make a call of this id; once. */
  runOf(id: string): Run | undefined {
    const run = this.#runs.get(id);
    this.#runs.delete(id);
    return run;
  }
}
