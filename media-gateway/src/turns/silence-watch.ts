import type { AgentConfig } from '@parley/shared/contracts/agent-config';

/**
 * What a silence has led to. A reminder without a text is thought of by the model. `unanswered`: so many reminders were given,
 * and time for an answer; told once for each, before the next reminder.
 */
export type SilenceStep =
  { type: 'remind'; message: string | undefined } | { type: 'unanswered'; count: number } | { type: 'end' };

/** Counts silence in which nobody speaks, thinks or does anything: reminds, and gives up in the end. */
export class SilenceWatch {
  #config: AgentConfig['silence'];
  #silentMs = 0;
  #sinceReminderMs = 0;
  #reminders = 0;
  /** Of them, those that were told to be unanswered. */
  #unanswered = 0;
  #everBroken = false;

  constructor(config: AgentConfig['silence']) {
    this.#config = config;
  }

  /** From now on another agent's settings hold. */
  configure(config: AgentConfig['silence']): void {
    this.#config = config;
  }

  /** The caller gave a sign of life. */
  broken(): void {
    this.#silentMs = 0;
    this.remindAnew();
    this.#everBroken = true;
  }

  /** The next reminder is the first one again; the silence has lasted as long as it has. */
  remindAnew(): void {
    this.#sinceReminderMs = 0;
    this.#reminders = 0;
    this.#unanswered = 0;
  }

  /** Reminders that have gone unanswered one after the other. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** The caller has given any sign of life at all. */
  get everBroken(): boolean {
    return this.#everBroken;
  }

  /** So many more milliseconds of silence. */
  pass(ms: number): SilenceStep | undefined {
    this.#silentMs += ms;
    this.#sinceReminderMs += ms;
    if (this.#silentMs >= this.#config.end_call_after_seconds * 1000) return { type: 'end' };
    if (this.#sinceReminderMs < this.#config.reminder_after_seconds * 1000) return undefined;
    if (this.#reminders > this.#unanswered)
      return { type: 'unanswered', count: (this.#unanswered = this.#reminders) };
    if (this.#reminders >= this.#config.max_reminders) return undefined;
    const messages = this.#config.reminder_messages;
    const message = messages[this.#reminders % Math.max(1, messages.length)];
    this.#reminders++;
    this.#sinceReminderMs = 0;
    return { type: 'remind', message };
  }
}
