import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { CallEventData } from '@parley/shared/contracts/call-events';
import type { PlanTool, SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Clock } from '@parley/shared/time/clock';
import type { Participant } from '../participants/participant.ts';
import type { LlmTool, LlmToolCall } from '../providers/llm/llm-provider.ts';
import type { ReplyTools, ToolResult } from '../speech/reply.ts';
import { destinationOf, offeredTools, refusal, runBuiltIn } from './built-in-tools.ts';
import { ToolGuard, toolCallKey } from './tool-guard.ts';
import type { ToolRunner, ToolSession } from '@parley/shared/tools/tool-runner';

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
  /**
   * Transfers the caller once the present utterance was heard.
   * @param onFailed the transfer was tried, and the caller is still with the agent
   * @returns the code word of the refusal, if refused
   */
  transferAfterSpeech(destination: TransferDestination, onFailed: (code: string) => void): string | undefined;
  /** @returns whether the digits went out */
  sendDtmf(digits: string): Promise<boolean>;
  /** @returns passages for the model; undefined: there was no answer */
  searchKnowledge(query: string): Promise<string | undefined>;
  /** What the caller is told of a tool that is given up, or of a transfer to this destination. */
  apology(destination: TransferDestination | undefined): string;
  emitTool<T extends 'tool_started' | 'tool_finished' | 'warning'>(type: T, data: CallEventData<T>): void;
  toolTook(ms: number): void;
}

const MAX_EVENT_TEXT = 2000;
/** The key of all transfers of a call in its `ToolGuard`: whoever cannot be reached, the caller waits each time. */
const TRANSFERS = 'transfers';

/** What became of a tool call, for the model and for the events. */
type Outcome = ToolResult & { ok: boolean; status?: number | undefined; code?: string | undefined };
type Speak = (text: string) => Promise<void>;

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
  readonly #guard = new ToolGuard();
  readonly #runs = new Map<string, Promise<ToolResult>>();
  /** Tool calls that the client was asked to run and has not answered. */
  readonly #asked = new Map<string, (content: string) => void>();
  /** What ends the wait for each tool that runs. */
  readonly #overdue = new Set<(outcome: Outcome) => void>();
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

  /** Waits no longer for the tools that run: the model is told that they did not answer. */
  giveUp(): void {
    const content = refusal('The tool did not answer in time.');
    for (const end of this.#overdue) end({ ok: false, code: 'timeout', content });
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

  run(call: LlmToolCall, results: Map<string, string>, speak: Speak): Promise<ToolResult> {
    let run = this.#runs.get(call.id);
    // Arguments that are not JSON never reach the client: the model gets the error at once.
    if (!run && this.#isClients(call.name) && parseArguments(call.arguments)) {
      run = Promise.resolve({ content: '', final: true });
      this.#runs.set(call.id, run);
      this.#askClient(call, results);
    }
    if (!run) {
      this.#running++;
      run = this.#runOnce(call, results, speak).then((result) => {
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

  async #runOnce(call: LlmToolCall, results: Map<string, string>, speak: Speak): Promise<ToolResult> {
    const { controls, clock } = this.#deps;
    const startedAt = clock.monotonic();
    const tool_id = this.#byName.get(call.name)?.tool_id ?? null;
    const about = { tool_call_id: call.id, tool_id, name: call.name };
    controls.emitTool('tool_started', { ...about, arguments: call.arguments.slice(0, MAX_EVENT_TEXT) });
    const { promise: overdue, resolve: end } = Promise.withResolvers<Outcome>();
    this.#overdue.add(end);
    const result = await Promise.race([this.#guarded(call, results, speak), overdue]);
    this.#overdue.delete(end);
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

  /** Runs a call, unless the same one has failed too often. */
  async #guarded(call: LlmToolCall, results: Map<string, string>, speak: Speak): Promise<Outcome> {
    const args = parseArguments(call.arguments);
    const key = args === undefined ? `${call.name} ${call.arguments}` : toolCallKey(call.name, args);
    const refused = this.#guard.refuse(key) ?? (isTransfer(call) ? this.#guard.refuse(TRANSFERS) : undefined);
    if (refused?.action === 'give_up') return this.#giveUp(call, args, speak);
    if (refused) {
      if (refused.first) this.#deps.controls.emitTool('warning', { code: 'tool_refused', name: call.name });
      return repeatedFailure(
        'Tell the caller that it does not work at the moment, and offer something else.',
      );
    }
    const result = await this.#attempt(call, args, results, speak);
    if (result.ok) this.#guard.succeeded(key);
    else this.#guard.failed(key, `${result.code} ${result.status}`);
    return result;
  }

  /** The model does not stop calling what is refused: the caller is told, and the reply ends. */
  async #giveUp(
    call: LlmToolCall,
    args: Record<string, unknown> | undefined,
    speak: Speak,
  ): Promise<Outcome> {
    const { controls } = this.#deps;
    controls.emitTool('warning', { code: 'tool_given_up', name: call.name });
    const destination = isTransfer(call) && args ? destinationOf(args, this.#deps) : undefined;
    // The reply handles a voice that fails.
    await speak(controls.apology(destination)).catch(() => {});
    return { ...repeatedFailure('The caller was told so.'), final: true };
  }

  async #attempt(
    call: LlmToolCall,
    args: Record<string, unknown> | undefined,
    results: Map<string, string>,
    speak: Speak,
  ): Promise<Outcome> {
    if (args === undefined) {
      const message = 'The arguments are not valid JSON. Call the tool again with a JSON object.';
      return { ok: false, code: 'invalid_arguments', content: refusal(message) };
    }
    const tool = this.#byName.get(call.name);
    try {
      if (tool) return await this.#runTool(tool, call, args, speak);
      const onTransferFailed = (code: string) => {
        this.#guard.failed(TRANSFERS, 'failed');
        const message = `The transfer failed (${code}). The caller is still with you.`;
        results.set(call.id, refusal(message));
      };
      return await runBuiltIn(call.name, args, { ...this.#deps, onTransferFailed });
    } catch (error) {
      const message =
        error instanceof Error ? error.message : 'The tool failed because of an internal error.';
      return { ok: false, code: 'tool_failed', content: refusal(message) };
    }
  }

  async #runTool(
    tool: PlanTool,
    call: LlmToolCall,
    args: Record<string, unknown>,
    speak: Speak,
  ): Promise<Outcome> {
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

const isTransfer = ({ name }: LlmToolCall): boolean => name === 'transfer_call';

function repeatedFailure(what: string): Outcome {
  const content = refusal(
    `This has failed each time. It is not tried again in this call: do not call it again. ${what}`,
  );
  return { ok: false, code: 'repeated_failure', content };
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
