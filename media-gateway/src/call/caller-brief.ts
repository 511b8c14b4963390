import type { TransferDestination } from '@parley/shared/contracts/agent-config';
import { MAX_BRIEF_LENGTH } from '@parley/shared/contracts/call-events';
import type { Usage } from '@parley/shared/contracts/usage';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import { languageName } from '@parley/shared/languages/language-name';
import type { Clock } from '@parley/shared/time/clock';
import { countTokens } from '../providers/llm/count-tokens.ts';
import type { LlmMessage, LlmProvider } from '../providers/llm/llm-provider.ts';
import type { ReplyGuard } from '../speech/reply-guard.ts';
import type { PromptTexts } from './prompt.ts';

/** So long a summary may take. Without one, `brief_text` is said. */
const SUMMARY_MS = 6000;
const SUMMARY_TOKENS = 120;

const AGENT_REQUEST =
  '[Another agent takes this call over, and gets your next words instead of the conversation; the caller does not hear them. ' +
  'In at most four short sentences, say who the caller is, as far as that is known, what they want, and what was done. Say nothing else.]';

/** What is said of a caller to whom they are to be brought to. */
export class CallerBrief {
  readonly #plan: SessionPlan;
  readonly #prompt: PromptTexts;
  readonly #llms: readonly LlmProvider[];
  readonly #messages: () => LlmMessage[];
  readonly #guard: () => ReplyGuard | undefined;
  readonly #clock: Clock;
  readonly #usage: Usage;
  readonly #onTrouble: (error: unknown) => void;

  constructor(deps: {
    /** The call's own: another agent may be in it. */
    plan: SessionPlan;
    prompt: PromptTexts;
    llms: readonly LlmProvider[];
    /** The conversation so far. */
    messages: () => LlmMessage[];
    /** What judges the words of the agent in force, if anything does. */
    guard: () => ReplyGuard | undefined;
    clock: Clock;
    usage: Usage;
    onTrouble: (error: unknown) => void;
  }) {
    this.#plan = deps.plan;
    this.#prompt = deps.prompt;
    this.#llms = deps.llms;
    this.#messages = deps.messages;
    this.#guard = deps.guard;
    this.#clock = deps.clock;
    this.#usage = deps.usage;
    this.#onTrouble = deps.onTrouble;
  }

  /** @returns at most `MAX_BRIEF_LENGTH` characters; empty: nothing is said of the caller. Never rejects. */
  async of({ brief_to_target: mode, brief_text: text }: TransferDestination): Promise<string> {
    if (mode === 'none') return '';
    const summary =
      mode === 'summary' ? await this.#admitted(await this.#summary(briefRequest(this.#plan))) : '';
    return (summary === '' ? this.#prompt.render(text) : summary).trim().slice(0, MAX_BRIEF_LENGTH);
  }

  /** A summary, if the agent may say it: it is spoken as its other words are. */
  async #admitted(summary: string): Promise<string> {
    const guard = this.#guard();
    if (summary === '' || !guard?.agent) return summary;
    // It has a deadline of its own.
    const verdict = await guard.agent(summary, '', this.#messages(), new AbortController().signal);
    if (verdict.told) guard.tell(verdict.told);
    return verdict.passes ? summary : '';
  }

  /** What another agent is told of the call. @returns as `of` */
  async forAgent(): Promise<string> {
    return (await this.#summary(AGENT_REQUEST)).slice(0, MAX_BRIEF_LENGTH);
  }

  /** In a few sentences what the caller wants; empty when no model has said it in time. */
  async #summary(request: string): Promise<string> {
    const llm = this.#llms[0];
    if (!llm) return '';
    const abort = new AbortController();
    const timer = this.#clock.setTimeout(
      () => abort.abort(new Error('The summary took too long.')),
      SUMMARY_MS,
    );
    let text = '';
    try {
      const stream = llm.stream(
        {
          messages: [...this.#messages(), { role: 'user', content: request }],
          tools: [],
          temperature: 0.2,
          maxOutputTokens: SUMMARY_TOKENS,
          timeoutMs: SUMMARY_MS,
          cacheKey: this.#plan.agent.agent_id ?? this.#plan.session_id,
        },
        abort.signal,
      );
      for await (const event of stream) {
        if (event.type === 'text') text += event.text;
        else if (event.type === 'usage') countTokens(this.#usage, llm, event);
      }
    } catch (error) {
      this.#onTrouble(error);
      return '';
    } finally {
      timer.cancel();
    }
    return wholeSentences(text);
  }
}

function briefRequest({ agent }: SessionPlan): string {
  const language = languageName(agent.config.language.primary);
  return (
    '[The caller is being transferred to a person, to whom your next words are spoken; the caller does not hear them. ' +
    `In at most two short sentences in ${language}, say who the caller is, as far as that is known, and what they want. ` +
    'Say nothing else, and address nobody.]'
  );
}

/** A text that was cut ends behind its last sentence, where it has one. */
function wholeSentences(text: string): string {
  const end = Math.max(...['.', '!', '?', '。', '।'].map((mark) => text.lastIndexOf(mark)));
  return end === -1 ? text.trim() : text.slice(0, end + 1).trim();
}
