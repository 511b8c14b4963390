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
  /**
   * Asks the client to run one tool call. The reply ends here; the result comes by `CallSteering.answerTool`, or
   * never.
   */
  begin(call: LlmToolCall): void;
}

export type TransferDestination = AgentConfig['transfer']['destinations'][number];

/** What built-in tools do to the call. */
export interface CallControls {
  /**
   * Ends the call once the present utterance was heard.
   * @param message said if no utterance is present
   * @returns the code word of the refusal, if refused
   */
  endAfterSpeech(message: string | undefined): string | undefined;
  /** Transfers the caller once the present utterance was heard. @returns the code word of the refusal, if refused */
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
  /** The variables of the call itself, not a copy: tools set some. */
  variables: Record<string, string>;
  controls: CallControls;
  clock: Pick<Clock, 'monotonic'>;
  /** Aborts at the end of the call, not of the reply: a tool that was started is finished. */
  signal: AbortSignal;
}

/** The tools of one call: those of its agent, the built-in ones, and those of the client. Each call runs once. */
export class CallTools implements ReplyTools {
  readonly #deps: CallToolsDeps;
  readonly #byName: ReadonlyMap<string, PlanTool>;
  readonly #runs = new Map<string, Promise<ToolResult>>();
  /** Tool calls that the client was asked to run and has not answered. */
  readonly #asked = new Map<string, (content: string) => void>();
  #running = 0;
  #idle: (() => void)[] = [];

  constructor(deps: CallToolsDeps) {
    this.#deps = deps;
    this.#byName = new Map(deps.plan.tools.map((tool) => [tool.name, tool]));
  }

  /** Whether any tool is running. */
  get busy(): boolean {
    return this.#running > 0;
  }

  /** Resolves when no tool is running: the next reply must know what the tools did. */
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

  /** Tools of the agent and built-in tools. They take precedence over a client's tool of the same name. */
  #own(): LlmTool[] {
    const own = this.#deps.plan.tools.map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
    }));
    return [...own, ...offeredTools(this.#deps)];
  }

  /** Takes the client's result of a tool call. @returns whether the client had been asked for that call */
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
    // Arguments that are not JSON never reach the client: the model gets the error at once.
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

  /** Whether the name is that of a client's tool, and of no other tool. */
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
      // The reply handles a voice that fails; the tool runs all the same.
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
