import { toWords } from '../turns/phrases.ts';
import { ANSWER_PHRASES, type AnswerPhraseTable } from './answer-phrase-tables.ts';

/** What the words of a far end show: each entry as it stands in the tables. */
export interface PhraseEvidence {
  /** Said by recorders alone. */
  voicemail: string | undefined;
  screening: string | undefined;
  ivr: string | undefined;
  /** Said by recorders, and now and then by people: different ones count. */
  hints: readonly string[];
  /** Said by people alone, most often a question. */
  person: string | undefined;
}

interface Phrase {
  text: string;
  /** With a space at either end, as words stand in a text. */
  padded: string;
}

type Kind = keyof AnswerPhraseTable;
const KINDS: readonly Kind[] = ['voicemail', 'hints', 'assistant', 'screening', 'wait', 'ivr', 'person'];

const padded = (text: string) => ` ${toWords(text.replaceAll('’', "'")).join(' ')} `;

/** Finds the standard wordings of recorders, assistants and menus in a transcript. */
export class AnswerPhrases {
  readonly #phrases: Readonly<Record<Kind, readonly Phrase[]>>;

  /** @param language of the agent; English is looked for as well, and everything where there is no table */
  constructor(language: string) {
    const base = language.split('-', 1)[0]!.toLowerCase();
    const own = ANSWER_PHRASES[base];
    const tables = own
      ? [own, ...(base === 'en' ? [] : [ANSWER_PHRASES['en']!])]
      : Object.values(ANSWER_PHRASES);
    const collect = (kind: Kind) =>
      tables.flatMap((table) => table[kind].map((text) => ({ text, padded: padded(text) })));
    this.#phrases = Object.fromEntries(KINDS.map((kind) => [kind, collect(kind)])) as Record<Kind, Phrase[]>;
  }

  /** @param text all that was heard of the far end */
  read(text: string): PhraseEvidence {
    const said = padded(text);
    const first = (kind: Kind) => this.#phrases[kind].find((phrase) => said.includes(phrase.padded))?.text;
    const person = first('person');
    // What people ask has the words of recorders in it: "Would you like to leave a message?"
    const own = person === undefined;
    return {
      voicemail: own ? first('voicemail') : undefined,
      screening: first('assistant') ?? (own ? first('screening') : undefined),
      ivr: first('ivr'),
      hints: own ? this.#hints(said) : [],
      person,
    };
  }

  /** Whether a screening assistant asks for patience. @param text its last words */
  asksToWait(text: string): boolean {
    const said = padded(text);
    return this.#phrases.wait.some((phrase) => said.includes(phrase.padded));
  }

  #hints(said: string): string[] {
    return this.#phrases.hints.filter((phrase) => said.includes(phrase.padded)).map(({ text }) => text);
  }
}
