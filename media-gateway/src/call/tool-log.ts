import { BUILT_IN_TOOLS } from '@parley/shared/contracts/built-in-tools';
import type { CallEventData } from '@parley/shared/contracts/call-events';
import type { PlanTool } from '@parley/shared/contracts/session-plan';
import type { Clock } from '@parley/shared/time/clock';
import type { LlmToolCall } from '../providers/llm/llm-provider.ts';
import type { ToolResult } from '../speech/reply.ts';

const MAX_EVENT_TEXT = 2000;

/** Codes of failures that say more than "failed". */
const OUTCOMES: Readonly<Record<string, CallEventData<'tool_finished'>['outcome']>> = {
  timeout: 'timed_out',
  declined: 'declined',
  unconfirmed: 'unconfirmed',
  call_ended: 'cancelled',
  transferred: 'cancelled',
  superseded: 'cancelled',
  confirmation_pending: 'refused',
  invalid_arguments: 'refused',
  repeated_failure: 'refused',
  rate_limited: 'refused',
  too_many_running: 'refused',
  unknown_tool: 'refused',
  unsupported: 'refused',
};

/** What became of a tool call, for the model and for the events. */
export interface Outcome extends ToolResult {
  ok: boolean;
  status?: number | undefined;
  code?: string | undefined;
  /** The call goes on: this is what the model is told meanwhile. */
  later?: boolean;
}

/** A tool call whose beginning was told. */
export interface ToldCall {
  readonly call: LlmToolCall;
  /** Monotonic ms. */
  startedAt: number;
}

/** Those of the tools themselves, and what built-in ones tell. */
type ToolEventType =
  'tool_started' | 'tool_finished' | 'tool_confirmation' | 'warning' | 'remember' | 'do_not_call';

export interface ToolEvents {
  emitTool<T extends ToolEventType>(type: T, data: CallEventData<T>): void;
  toolTook(ms: number): void;
}

/** Tells what becomes of the tool calls of one call. */
export class ToolLog {
  readonly #byName: ReadonlyMap<string, PlanTool>;
  readonly #events: ToolEvents;
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor(deps: {
    byName: ReadonlyMap<string, PlanTool>;
    events: ToolEvents;
    clock: Pick<Clock, 'monotonic'>;
  }) {
    this.#byName = deps.byName;
    this.#events = deps.events;
    this.#clock = deps.clock;
  }

  /** @param ofClient the far end runs it */
  started(call: LlmToolCall, ofClient = false): ToldCall {
    const about = this.#about(call, ofClient);
    this.#events.emitTool('tool_started', { ...about, arguments: call.arguments.slice(0, MAX_EVENT_TEXT) });
    return { call, startedAt: this.#clock.monotonic() };
  }

  finished({ call, startedAt }: ToldCall, outcome: Outcome, ofClient = false): void {
    const { ok, status, code, content } = outcome;
    const ms = Math.round(this.#clock.monotonic() - startedAt);
    this.#events.toolTook(ms);
    this.#events.emitTool('tool_finished', {
      ...this.#about(call, ofClient),
      ok,
      outcome: ok ? 'succeeded' : (OUTCOMES[code ?? ''] ?? 'failed'),
      duration_ms: ms,
      ...(status === undefined ? {} : { status }),
      ...(code === undefined ? {} : { code }),
      result: content.slice(0, MAX_EVENT_TEXT),
    });
  }

  confirmation({ call }: ToldCall, answer: CallEventData<'tool_confirmation'>['answer']): void {
    this.#events.emitTool('tool_confirmation', { ...this.#about(call, false), answer });
  }

  #about({ id, name }: LlmToolCall, ofClient: boolean) {
    const tool = this.#byName.get(name);
    const other = Object.hasOwn(BUILT_IN_TOOLS, name) ? ('built_in' as const) : ('unknown' as const);
    return {
      tool_call_id: id,
      tool_id: ofClient ? null : (tool?.tool_id ?? null),
      name,
      kind: ofClient ? ('client' as const) : (tool?.type ?? other),
    };
  }
}
