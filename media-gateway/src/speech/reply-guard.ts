import type { CallEventData } from '@parley/shared/contracts/call-events';
import type { LlmMessage } from '../providers/llm/llm-provider.ts';

/** Whether something may be said or answered, and what is to be told of that, if anything. */
export interface Verdict {
  passes: boolean;
  told?: CallEventData<'guardrail'>;
}

/** Looks at a reply before it is heard. Verdicts come within their deadline and never reject. */
export interface ReplyGuard {
  /** What is said instead. */
  refusal(): string;
  /** May what the caller has said be answered? Absent: always. */
  caller?(messages: readonly LlmMessage[], signal: AbortSignal): Promise<Verdict>;
  /** May the agent say this? Absent: always. @param before what it has said in this reply */
  agent?(
    text: string,
    before: string,
    messages: readonly LlmMessage[],
    signal: AbortSignal,
  ): Promise<Verdict>;
  /** A verdict of a reply that counts. */
  tell(told: CallEventData<'guardrail'>): void;
}

/** Guards one reply. */
export class GuardedReply {
  readonly #guard: ReplyGuard;
  /** As they were when the reply began. */
  readonly #messages: readonly LlmMessage[];
  readonly #signal: AbortSignal;
  /** Resolves when the reply counts. */
  readonly #released: Promise<void>;
  readonly #admitted: Promise<Verdict> | undefined;

  /** Begins to look at what the caller said. @param answers the reply is an answer to that */
  constructor(deps: {
    guard: ReplyGuard;
    answers: boolean;
    messages: readonly LlmMessage[];
    signal: AbortSignal;
    released: Promise<void>;
  }) {
    this.#guard = deps.guard;
    this.#messages = deps.messages;
    this.#signal = deps.signal;
    this.#released = deps.released;
    this.#admitted = deps.answers ? deps.guard.caller?.(deps.messages, deps.signal) : undefined;
    if (this.#admitted) void this.#admitted.then((verdict) => this.#tell(verdict));
  }

  /** Resolves when what the caller said may be answered. @throws Refused */
  async admit(): Promise<void> {
    const verdict = await this.#admitted;
    this.#signal.throwIfAborted();
    if (verdict?.passes === false) throw new Refused();
  }

  /** Resolves when the agent may say this. @param before what it has said in this reply @throws Refused */
  async pass(text: string, before: string): Promise<void> {
    await this.admit();
    const verdict = await this.#guard.agent?.(text, before, this.#messages, this.#signal);
    this.#signal.throwIfAborted();
    if (verdict) this.#tell(verdict);
    if (verdict?.passes === false) throw new Refused();
  }

  /** As `pass`, for what need not be said: nothing is told of it. */
  async mayBeSaid(text: string, signal: AbortSignal): Promise<boolean> {
    const admitted = await this.#admitted;
    if (admitted?.passes === false) return false;
    const verdict = await this.#guard.agent?.(text, '', this.#messages, signal);
    return verdict?.passes ?? true;
  }

  /** What is said in place of what is refused. */
  get refusal(): string {
    return this.#guard.refusal();
  }

  #tell({ told }: Verdict): void {
    if (told)
      void this.#released.then(() => {
        if (!this.#signal.aborted) this.#guard.tell(told);
      });
  }
}

/** The reply must not be said: the refusal is said instead. */
export class Refused extends Error {}
