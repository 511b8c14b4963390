import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import { ConversationRedaction } from '@parley/shared/redaction/conversation-redaction';
import type { RedactionKind } from '@parley/shared/redaction/kinds';
import type { LlmMessage } from '../providers/llm/llm-provider.ts';

/** So many of the last messages are read together. Of older ones it is known what is masked. */
const WINDOW = 16;
/** Variables whose values are names. */
const NAME_VARIABLES = /(^|[_.-])(name|vorname|nachname|nombre|nom|surname)$/i;

/** What of one call is masked, and where: in what is reported, and in what the LLM is told. */
export class CallRedaction {
  readonly conversation: ConversationRedaction;
  /** The language model gets masked text as well. */
  #beforeLlm: boolean;
  /** Messages as they were, with their masked form. */
  #known = new Map<string, string>();

  constructor(plan: Pick<SessionPlan, 'redaction' | 'variables' | 'agent'>) {
    this.conversation = new ConversationRedaction({
      kinds: plan.redaction.kinds,
      language: plan.agent.config.language.primary,
      names: Object.entries(plan.variables).flatMap(([name, value]) =>
        NAME_VARIABLES.test(name) ? [value] : [],
      ),
    });
    this.#beforeLlm = plan.redaction.before_llm;
  }

  /** Another agent goes on with the call: what it masks is masked as well. */
  widen(privacy: { redact: readonly RedactionKind[]; redact_before_llm: boolean }): void {
    this.conversation.widen(privacy.redact);
    this.#beforeLlm ||= privacy.redact_before_llm;
  }

  get beforeLlm(): boolean {
    return this.#beforeLlm && this.conversation.active;
  }

  /** A text of the caller's as the LLM, or whoever else answers for it, gets it. */
  question(text: string): string {
    return this.beforeLlm ? this.conversation.text(text) : text;
  }

  /** What the LLM gets: all that was said and that tools answered, masked. The agent's instructions stay. */
  messages(messages: LlmMessage[]): LlmMessage[] {
    if (!this.beforeLlm) return messages;
    const from = Math.max(0, messages.length - WINDOW);
    const recent = messages.slice(from);
    const texts = this.conversation.texts(
      recent.map(({ role, content }) => ({
        role: role === 'user' ? 'caller' : 'agent',
        text: role === 'system' ? '' : content,
      })),
    );
    const known = new Map<string, string>();
    const masked = messages.map((message, at): LlmMessage => {
      const { role, content } = message;
      if (role === 'system') return message;
      const text =
        at >= from ? texts[at - from]! : (this.#known.get(content) ?? this.conversation.text(content));
      known.set(content, text);
      return { ...message, content: text };
    });
    this.#known = known;
    return masked;
  }
}
