import type { ReplyPart } from '../speech/reply.ts';
import { toWords } from '../turns/phrases.ts';
import { yesOrNo, type YesNo } from '../turns/yes-no.ts';

/** So much of the question must have been heard, when the caller answers into it. */
const MIN_HEARD = 0.5;

/**
 * Looks for the caller's yes to one tool call. The question is what the agent said behind the call, and was heard; the
 * answer is the caller's next turn. What answers anything else, such as a reminder that came in between, is unclear.
 */
export class Confirmation {
  /** The ids under which the model knows the call: its own, and that of the second question. */
  readonly #ids: Set<string>;
  #question: string | undefined;
  #asked = 1;

  constructor(callId: string) {
    this.#ids = new Set([callId]);
  }

  /** How often the caller was asked. */
  get asked(): number {
    return this.#asked;
  }

  /** The question is asked again, behind the tool call of this id. */
  askAgain(callId: string): void {
    this.#ids.add(callId);
    this.#asked++;
    this.#question = undefined;
  }

  /** An utterance of the agent has ended. @param heard the words of it that were heard */
  agentSaid(parts: readonly ReplyPart[], heard: string): void {
    const at = parts.findIndex(
      (part) => part.type === 'tools' && part.calls.some(({ id }) => this.#ids.has(id)),
    );
    if (at === -1) {
      if (heard !== '') this.#question = undefined;
      return;
    }
    const asked = textOf(parts.slice(at));
    const words = asked.split(/\s+/).length;
    const heardOfIt = heard.split(/\s+/).length - wordsOf(textOf(parts.slice(0, at)));
    this.#question =
      asked !== '' && heard !== '' && heardOfIt >= Math.max(1, words * MIN_HEARD) ? asked : undefined;
  }

  /** The caller has taken a turn. */
  callerSaid(text: string, language: string): YesNo {
    if (this.#question === undefined || toWords(text).length === 0) return 'unclear';
    return yesOrNo(text, this.#question, language);
  }
}

function textOf(parts: readonly ReplyPart[]): string {
  return parts
    .flatMap((part) => (part.type === 'speech' ? [part.text] : []))
    .join(' ')
    .trim();
}

const wordsOf = (text: string) => (text === '' ? 0 : text.split(/\s+/).length);
