import type { TransferDestination } from '@parley/shared/contracts/agent-config';
import type { PlanTool, SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Clock } from '@parley/shared/time/clock';
import type { Participant } from '../participants/participant.ts';
import type { LlmTool, LlmToolCall } from '../providers/llm/llm-provider.ts';
import type { ReplyTools, ToolResult } from '../speech/reply.ts';
import type { AgentTools } from './agent-tools.ts';
import { destinationOf, offeredTools, refusal, runBuiltIn } from './built-in-tools.ts';
import { Confirmations, type Confirmable } from './confirmations.ts';
import { DueCalls, type Speak } from './due-calls.ts';
import { FlowTools } from './flow-tools.ts';
import { RunningTools } from './running-tools.ts';
import * as answers from './tool-answers.ts';
import { ToolGuard, toolCallKey } from './tool-guard.ts';
import { ToolLog, type Outcome, type ToldCall, type ToolEvents } from './tool-log.ts';

/** Tools that a far end brings along and runs itself (realtime clients). */
export interface ClientTools {
  list(): readonly LlmTool[];
  /**
   * Asks the client to run one tool call. The reply ends here; the result comes by `CallSteering.answerTool`, or
   * never.
   */
  begin(call: LlmToolCall): void;
}

/** What built-in tools do to the call. */
export interface CallControls extends ToolEvents {
  /**
   * Ends the call once the present utterance was heard.
   * @param message said if no utterance is present
   * @returns the code word of the refusal, if refused
   */
  endAfterSpeech(message: string | undefined): string | undefined;
  /**
   * Transfers the caller, or hands the call over to another agent, once the present utterance was heard.
   * @param onFailed the transfer was tried, and the caller is still with the agent
   * @returns the code word of the refusal, if refused
   */
  transferAfterSpeech(destination: TransferDestination, onFailed: (code: string) => void): string | undefined;
  /** Goes on in another language. @returns false for one that the agent does not have */
  setLanguage(tag: string): boolean;
  /** @returns whether the digits went out */
  sendDtmf(digits: string): Promise<boolean>;
  /** @returns passages for the model; undefined: there was no answer */
  searchKnowledge(query: string): Promise<string | undefined>;
  /** What the caller is told of a tool that is given up, or of a transfer to this destination. */
  apology(destination: TransferDestination | undefined): string;
}

/** The key of all transfers of a call in its `ToolGuard`: whoever cannot be reached, the caller waits each time. */
const TRANSFERS = 'transfers';
/** How many tools may run beside the conversation; a further one is refused. */
const MAX_LATE = 8;
/** A tool call under way. */
interface Running extends ToldCall {
  readonly speak: Speak;
}

export interface CallToolsDeps {
  plan: SessionPlan;
  participant: Pick<Participant, 'carrierCommands' | 'dtmfOut'>;
  agent: AgentTools;
  client: ClientTools | undefined;
  controls: CallControls;
  clock: Pick<Clock, 'monotonic'>;
}

/**
 * The tools of one call: those of its agent, the built-in ones, and those of the client. Each call runs once. What runs
 * beside the conversation, and what waits for the caller's yes, is told to the model by a later reply.
 */
export class CallTools implements ReplyTools {
  readonly #deps: CallToolsDeps;
  readonly #agent: AgentTools;
  readonly #log: ToolLog;
  readonly #guard = new ToolGuard();
  readonly #runs = new Map<string, Promise<ToolResult>>();
  /** Tool calls that the client was asked to run and has not answered. */
  readonly #asked = new Map<string, (content: string) => void>();
  readonly #due = new DueCalls();
  /** Tools that run beside the conversation. */
  readonly #late = new Set<ToldCall>();
  /** Learns of what both sides say, and asks the caller before a tool is run. */
  readonly confirmations: Confirmations;
  /** The tools that a flow runs by itself. */
  readonly flow: FlowTools;
  readonly #running = new RunningTools();

  constructor(deps: CallToolsDeps) {
    this.#deps = deps;
    this.#agent = deps.agent;
    this.#log = new ToolLog({ byName: deps.agent.byName, events: deps.controls, clock: deps.clock });
    this.flow = new FlowTools({
      plan: deps.plan,
      agent: deps.agent,
      log: this.#log,
      running: this.#running,
    });
    this.confirmations = new Confirmations({
      log: this.#log,
      due: this.#due,
      language: () => deps.plan.agent.config.language.primary,
      run: (agreed, speak) => this.#runAgreed(agreed, speak),
    });
  }

  /** Whether any tool is running that the next reply waits for. */
  get busy(): boolean {
    return this.#running.any;
  }

  /** Resolves when no tool is running: the next reply must know what the tools did. */
  idle(): Promise<void> {
    return this.#running.idle();
  }

  /** Waits no longer for the tools that run: the model is told that they did not answer. */
  giveUp(): void {
    this.#running.giveUp();
  }

  /** The call is over: what runs beside it or waits is told as cancelled. What a reply waits for ends by its signal. */
  close(): void {
    for (const told of this.#late) this.#log.finished(told, answers.ENDED);
    this.#late.clear();
    this.confirmations.drop(answers.ENDED);
    this.flow.close();
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
    return [...this.#agent.list(), ...offeredTools(this.#deps)];
  }

  // ---- what a later reply tells ----

  /** Whether there is something to tell that nobody has asked for. */
  get news(): boolean {
    return this.#due.waiting;
  }

  /** Whether a reply may be thought before the caller's turn is over: not when the turn decides what a tool does. */
  get mayThinkAhead(): boolean {
    return !this.confirmations.pending && !this.#due.waiting;
  }

  takeDue(): readonly LlmToolCall[] {
    return this.#due.take();
  }

  async #runAgreed({ tool, call, args, key }: Confirmable, speak: Speak): Promise<ToolResult> {
    const run: Running = { call, speak, startedAt: this.#deps.clock.monotonic() };
    const outcome = await this.#running.timely(this.#execute(tool, run, args, key));
    this.#judge(key, outcome);
    return this.#told(run, outcome);
  }

  // ---- the client's tools ----

  /** Takes the client's result of a tool call. @returns whether the client had been asked for that call */
  answer(callId: string, content: string): boolean {
    const take = this.#asked.get(callId);
    this.#asked.delete(callId);
    take?.(content);
    return take !== undefined;
  }

  /** Whether the name is that of a client's tool, and of no other tool. */
  #isClients(name: string): boolean {
    const { client } = this.#deps;
    if (!client?.list().some((tool) => tool.name === name)) return false;
    return !this.#own().some((tool) => tool.name === name);
  }

  #askClient(call: LlmToolCall, results: Map<string, string>): void {
    const told = this.#log.started(call, true);
    this.#asked.set(call.id, (content) => {
      results.set(call.id, content);
      this.#log.finished(told, { ok: true, content }, true);
    });
    this.#deps.client!.begin(call);
  }

  // ---- running ----

  run(call: LlmToolCall, results: Map<string, string>, speak: Speak): Promise<ToolResult> {
    let run = this.#runs.get(call.id);
    const due = this.#due.runOf(call.id);
    // Arguments that are not JSON never reach the client: the model gets the error at once.
    if (!run && !due && this.#isClients(call.name) && parseArguments(call.arguments)) {
      run = Promise.resolve({ content: '', final: true });
      this.#runs.set(call.id, run);
      this.#askClient(call, results);
    }
    if (!run) {
      this.#running.began();
      run = (due ? due(speak) : this.#runOnce(call, results, speak)).then((result) => {
        results.set(call.id, result.content);
        this.#running.ended();
        return result;
      });
      this.#runs.set(call.id, run);
    }
    return run;
  }

  async #runOnce(call: LlmToolCall, results: Map<string, string>, speak: Speak): Promise<ToolResult> {
    const run: Running = { ...this.#log.started(call), speak };
    return this.#told(run, await this.#running.timely(this.#guarded(run, results)));
  }

  #told(run: Running, outcome: Outcome): ToolResult {
    if (!outcome.later) this.#log.finished(run, outcome);
    return { content: outcome.content, ...(outcome.final ? { final: true } : {}) };
  }

  /** Runs a call, unless the same one has failed too often. */
  async #guarded(run: Running, results: Map<string, string>): Promise<Outcome> {
    const { call } = run;
    const args = parseArguments(call.arguments);
    const key = args === undefined ? `${call.name} ${call.arguments}` : toolCallKey(call.name, args);
    const refused = this.#guard.refuse(key) ?? (isTransfer(call) ? this.#guard.refuse(TRANSFERS) : undefined);
    if (refused?.action === 'give_up') return this.#giveUp(run, args);
    if (refused) {
      if (refused.first) this.#deps.controls.emitTool('warning', { code: 'tool_refused', name: call.name });
      return answers.repeatedFailure(
        'Tell the caller that it does not work at the moment, and offer something else.',
      );
    }
    const outcome = args === undefined ? answers.BAD_ARGUMENTS : await this.#attempt(run, results, args, key);
    this.#judge(key, outcome);
    return outcome;
  }

  #judge(key: string, outcome: Outcome): void {
    if (outcome.later) return;
    if (outcome.ok) this.#guard.succeeded(key);
    else this.#guard.failed(key, `${outcome.code} ${outcome.status}`);
  }

  /** The model does not stop calling what is refused: the caller is told, and the reply ends. */
  async #giveUp({ call, speak }: Running, args: Record<string, unknown> | undefined): Promise<Outcome> {
    const { controls } = this.#deps;
    controls.emitTool('warning', { code: 'tool_given_up', name: call.name });
    const destination = isTransfer(call) && args ? destinationOf(args, this.#deps) : undefined;
    // The reply handles a voice that fails.
    await speak(controls.apology(destination)).catch(() => {});
    return { ...answers.repeatedFailure('The caller was told so.'), final: true };
  }

  async #attempt(
    run: Running,
    results: Map<string, string>,
    args: Record<string, unknown>,
    key: string,
  ): Promise<Outcome> {
    const { call } = run;
    const tool = this.#agent.find(call.name);
    if (tool?.execution.confirm) return this.confirmations.ask({ ...run, tool, args, key });
    if (tool) return this.#execute(tool, run, args, key);
    try {
      const onTransferFailed = (code: string) => {
        this.#guard.failed(TRANSFERS, 'failed');
        const message = `The transfer failed (${code}). The caller is still with you.`;
        results.set(call.id, refusal(message));
      };
      return await runBuiltIn(call.name, args, { ...this.#deps, onTransferFailed });
    } catch (error) {
      return answers.broken(error);
    }
  }

  #execute(tool: PlanTool, run: Running, args: Record<string, unknown>, key: string): Promise<Outcome> {
    const runsBeside = tool.execution.mode === 'async';
    if (runsBeside && this.#late.size >= MAX_LATE) return Promise.resolve(answers.TOO_MANY);
    if (tool.execution.say_before !== '') {
      // The reply handles a voice that fails; the tool runs all the same.
      void run.speak(tool.execution.say_before).catch(() => {});
    }
    const work = this.#agent.run(tool, run.call.id, args);
    if (!runsBeside) return work;
    this.#late.add(run);
    void work.then((outcome) => {
      // Otherwise the call was over first.
      if (!this.#late.delete(run)) return;
      this.#judge(key, outcome);
      this.#log.finished(run, outcome);
      this.#due.tell(run.call, outcome.content);
    });
    return Promise.resolve({ ok: true, later: true, content: answers.STARTED });
  }
}

const isTransfer = ({ name }: LlmToolCall): boolean => name === 'transfer_call';

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
