import type { PlanTool } from '@parley/shared/contracts/session-plan';
import type { ReplyPart, ToolResult } from '../speech/reply.ts';
import { yesOrNo } from '../turns/yes-no.ts';
import { Confirmation } from './confirmation.ts';
import type { DueCalls, Speak } from './due-calls.ts';
import * as answers from './tool-answers.ts';
import type { Outcome, ToldCall, ToolLog } from './tool-log.ts';

/** How often the caller is asked for a yes. */
const MAX_ASKED = 2;

/** A tool call that needs the caller's yes. */
export interface Confirmable extends ToldCall {
  readonly tool: PlanTool;
  readonly args: Record<string, unknown>;
  /** See `toolCallKey`. */
  readonly key: string;
}

interface Pending {
  readonly asked: Confirmable;
  readonly confirmation: Confirmation;
}

/**
 * Has the caller asked before a tool is run, one call at a time, and finds the answer in what they say next. The model
 * is told by the next reply.
 */
export class Confirmations {
  readonly #log: ToolLog;
  readonly #due: DueCalls;
  /** BCP 47 tag, where a turn has none. */
  readonly #language: () => string;
  readonly #run: (agreed: Confirmable, speak: Speak) => Promise<ToolResult>;
  #pending: Pending | undefined;
  /** What the caller has said yes to and no reply has begun, by the id of its due call. */
  #agreed: { id: string; asked: Confirmable } | undefined;

  constructor(deps: {
    log: ToolLog;
    due: DueCalls;
    language: () => string;
    run: (agreed: Confirmable, speak: Speak) => Promise<ToolResult>;
  }) {
    this.#log = deps.log;
    this.#due = deps.due;
    this.#language = deps.language;
    this.#run = deps.run;
  }

  /** Whether a tool call waits for the caller's yes. */
  get pending(): boolean {
    return this.#pending !== undefined;
  }

  /** Has the model ask. Other arguments of the same tool take the place of those before. */
  ask(asked: Confirmable): Outcome {
    const before = this.#pending?.asked;
    if (before && (before.tool !== asked.tool || before.key === asked.key)) return answers.STILL_ASKED;
    if (before) this.#log.finished(before, answers.SUPERSEDED);
    this.#pending = { asked, confirmation: new Confirmation(asked.call.id) };
    this.#log.confirmation(asked, 'asked');
    return { ok: true, later: true, content: answers.ASK };
  }

  /** An utterance of the agent has ended. */
  agentSaid(parts: readonly ReplyPart[], heard: string): void {
    this.#pending?.confirmation.agentSaid(parts, heard);
  }

  /** The caller has taken a turn: it may be the answer that a tool waits for. */
  callerSaid(text: string, language: string = this.#language()): void {
    this.#revoke(text, language);
    if (!this.#pending) return;
    const { asked, confirmation } = this.#pending;
    const answer = confirmation.callerSaid(text, language);
    this.#log.confirmation(asked, answer);
    if (answer === 'unclear' && confirmation.asked < MAX_ASKED) {
      confirmation.askAgain(this.#due.tell(asked.call, answers.ASK_AGAIN));
      return;
    }
    this.#pending = undefined;
    if (answer === 'yes')
      this.#agreed = { id: this.#due.add(asked.call, (speak) => this.#runAgreed(asked, speak)), asked };
    else this.#end(asked, answer === 'no' ? answers.DECLINED : answers.UNCONFIRMED);
  }

  /** Nothing is asked any more: the caller is transferred, or the call is over. */
  drop(outcome: Outcome): void {
    const dropped = [this.#pending?.asked];
    if (this.#agreed && this.#due.withdraw(this.#agreed.id)) dropped.push(this.#agreed.asked);
    this.#pending = this.#agreed = undefined;
    for (const asked of dropped) if (asked) this.#end(asked, outcome);
  }

  /** A no that follows the yes before anything was done counts. */
  #revoke(text: string, language: string): void {
    const agreed = this.#agreed;
    if (!agreed || yesOrNo(text, '', language) !== 'no' || !this.#due.withdraw(agreed.id)) return;
    this.#agreed = undefined;
    this.#log.confirmation(agreed.asked, 'no');
    this.#end(agreed.asked, answers.DECLINED);
  }

  #runAgreed(asked: Confirmable, speak: Speak): Promise<ToolResult> {
    this.#agreed = undefined;
    return this.#run(asked, speak);
  }

  #end(asked: Confirmable, outcome: Outcome): void {
    this.#log.finished(asked, outcome);
    this.#due.tell(asked.call, outcome.content);
  }
}
