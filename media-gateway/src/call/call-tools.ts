import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { CallEventData } from '@parley/shared/contracts/call-events';
import type { PlanTool, SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Clock } from '@parley/shared/time/clock';
import type { Participant } from '../participants/participant.ts';
import type { LlmTool, LlmToolCall } from '../providers/llm/llm-provider.ts';
import type { ReplyTools, ToolResult } from '../speech/reply.ts';
import { offeredTools, refusal, runBuiltIn } from './built-in-tools.ts';
import type { ToolRunner, ToolSession } from './tool-runner.ts';

/** Tools that a far end brings along and runs itself (realtime clients). */
export interface ClientTools {
  list(): readonly LlmTool[];
  /** Asks for one call; the reply ends with it. The answer comes by `Call.answerTool`, or never. */
  begin(call: LlmToolCall): void;
}

export type TransferDestination = AgentConfig['transfer']['destinations'][number];

/** What built-in tools do to the call. */
export interface CallControls {
  /**
   * The call ends once what is being said was heard.
   * @param message said before, if nothing else is
   * @returns why not, if so: a code word
   */
  endAfterSpeech(message: string | undefined): string | undefined;
  /** Hands the caller over once what is being said was heard. @returns why not, if so: a code word */
  transferAfterSpeech(destination: TransferDestination): string | undefined;
  /** @returns whether the digits went out */
  sendDtmf(digits: string): Promise<boolean>;
  emitTool<T extends 'tool_started' | 'tool_finished'>(type: T, data: CallEventData<T>): void;
  toolTook(ms: number): void;
}

const MAX_EVENT_TEXT = 2000;

export interface CallToolsDeps {
  plan: SessionPlan;
  participant: Pick<Participant, 'carrierCommands' | 'dtmfOut'>;
  runner: ToolRunner;
  client: ClientTools | undefined;
  /** Live: tools set some. */
  variables: Record<string, string>;
  controls: CallControls;
  clock: Pick<Clock, 'monotonic'>;
  /** Ends with the call, not with the reply: a tool that was begun is finished. */
  signal: AbortSignal;
}

/** The tools of one call: those of its agent, the built-in ones, and those of the client. Each call runs once. */
export class CallTools implements ReplyTools {
  readonly #deps: CallToolsDeps;
  readonly #byName: ReadonlyMap<string, PlanTool>;
  readonly #runs = new Map<string, Promise<ToolResult>>();
  /** Calls that the client was asked for and has not answered. */
  readonly #asked = new Map<string, (content: string) => void>();
  #running = 0;
  #idle: (() => void)[] = [];

  constructor(deps: CallToolsDeps) {
    this.#deps = deps;
    this.#byName = new Map(deps.plan.tools.map((tool) => [tool.name, tool]));
  }

  /** Tools are running now. */
  get busy(): boolean {
    return this.#running > 0;
  }

  /** Resolves when no tool runs: a reply must know what was done before it answers. */
  idle(): Promise<void> {
    return this.#running === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  list(): readonly LlmTool[] {
    const { client } = this.#deps;
    const own = this.#own();
    if (!client) return own;
    const taken = new Set(own.map((tool) => tool.name));
    return [...own, ...client.list().filter((tool) => !taken.has(tool.name))];
  }

  /** Those of the agent and the built-in ones: on a clash of names they win. */
  #own(): LlmTool[] {
    const own = this.#deps.plan.tools.map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
    }));
    return [...own, ...offeredTools(this.#deps)];
  }

  /** The client's answer to a call it was asked for. @returns whether it had been asked */
  answer(callId: string, content: string): boolean {
    const take = this.#asked.get(callId);
    this.#asked.delete(callId);
    take?.(content);
    return take !== undefined;
  }

  run(
    call: LlmToolCall,
    results: Map<string, string>,
    speak: (text: string) => Promise<void>,
  ): Promise<ToolResult> {
    let run = this.#runs.get(call.id);
    // Arguments that are no JSON go the other way: the model is told at once.
    if (!run && this.#isClients(call.name) && parseArguments(call.arguments)) {
      run = Promise.resolve({ content: '', final: true });
      this.#runs.set(call.id, run);
      this.#askClient(call, results);
    }
    if (!run) {
      this.#running++;
      run = this.#runOnce(call, speak).then((result) => {
        results.set(call.id, result.content);
        this.#running--;
        if (this.#running === 0) for (const resolve of this.#idle.splice(0)) resolve();
        return result;
      });
      this.#runs.set(call.id, run);
    }
    return run;
  }

  /** A tool of the client whose name nothing else has. */
  #isClients(name: string): boolean {
    const { client } = this.#deps;
    if (!client?.list().some((tool) => tool.name === name)) return false;
    return !this.#own().some((tool) => tool.name === name);
  }

  #askClient(call: LlmToolCall, results: Map<string, string>): void {
    const { controls, clock, client } = this.#deps;
    const startedAt = clock.monotonic();
    const about = { tool_call_id: call.id, tool_id: null, name: call.name };
    controls.emitTool('tool_started', { ...about, arguments: call.arguments.slice(0, MAX_EVENT_TEXT) });
    this.#asked.set(call.id, (content) => {
      results.set(call.id, content);
      const ms = Math.round(clock.monotonic() - startedAt);
      controls.toolTook(ms);
      controls.emitTool('tool_finished', {
        ...about,
        ok: true,
        duration_ms: ms,
        result: content.slice(0, MAX_EVENT_TEXT),
      });
    });
    client!.begin(call);
  }

  async #runOnce(call: LlmToolCall, speak: (text: string) => Promise<void>): Promise<ToolResult> {
    const { controls, clock } = this.#deps;
    const tool = this.#byName.get(call.name);
    const startedAt = clock.monotonic();
    const about = { tool_call_id: call.id, tool_id: tool?.tool_id ?? null, name: call.name };
    controls.emitTool('tool_started', { ...about, arguments: call.arguments.slice(0, MAX_EVENT_TEXT) });
    let result: ToolResult & { ok: boolean; status?: number | undefined; code?: string | undefined };
    try {
      const args = parseArguments(call.arguments);
      if (args === undefined)
        result = {
          ok: false,
          code: 'invalid_arguments',
          content: refusal('The arguments are not valid JSON. Call the tool again with a JSON object.'),
        };
      else if (tool) result = await this.#runTool(tool, call, args, speak);
      else result = await runBuiltIn(call.name, args, this.#deps);
    } catch (error) {
      result = {
        ok: false,
        code: 'tool_failed',
        content: refusal(
          error instanceof Error ? error.message : 'The tool failed because of an internal error.',
        ),
      };
    }
    const ms = Math.round(clock.monotonic() - startedAt);
    controls.toolTook(ms);
    controls.emitTool('tool_finished', {
      ...about,
      ok: result.ok,
      duration_ms: ms,
      ...(result.status === undefined ? {} : { status: result.status }),
      ...(result.code === undefined ? {} : { code: result.code }),
      result: result.content.slice(0, MAX_EVENT_TEXT),
    });
    return { content: result.content, ...(result.final ? { final: true } : {}) };
  }

  async #runTool(
    tool: PlanTool,
    call: LlmToolCall,
    args: Record<string, unknown>,
    speak: (text: string) => Promise<void>,
  ) {
    const { runner, plan, variables, signal } = this.#deps;
    if (tool.execution.say_before !== '') {
      // A voice that fails is the reply's to handle: the tool runs all the same.
      void speak(tool.execution.say_before).catch(() => {});
    }
    const outcome = await runner.run(
      tool,
      {
        toolCallId: call.id,
        arguments: args,
        session: this.#session(),
        orgId: plan.org_id,
        allow: plan.outbound_allow,
      },
      signal,
    );
    Object.assign(variables, outcome.assigned);
    return { ok: outcome.ok, status: outcome.status, code: outcome.code, content: outcome.content };
  }

  #session(): ToolSession {
    const { plan, variables } = this.#deps;
    return {
      session_id: plan.session_id,
      agent_id: plan.agent.agent_id,
      channel: plan.channel,
      direction: plan.direction,
      from_number: plan.system.caller_number,
      to_number: plan.system.called_number,
      variables: { ...variables },
    };
  }
}

function parseArguments(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
