import type { Cue } from './cue-tables.ts';
import { cuesIn, questionBefore, wordsAfter, wordsBefore, type Reading } from './findings.ts';

/** How far before a number its announcement may stand, in words. */
const CUE_WORDS_BEFORE = 12;
/** Before a long number, which is hardly anything else. */
const CUE_WORDS_BEFORE_LONG = 24;
/** A number that comes within so many words of a turn answers what was asked; a short one, such as a PIN, within fewer. */
const ANSWER_WORDS = 24;
const SHORT_ANSWER_WORDS = 8;
const LONGEST_ANSWER = 100;

/** What a place is announced as: by the words before it, else by those after it, else by what was asked. */
export function cueAt(from: number, to: number, reading: Reading, isLong = false): Cue | undefined {
  for (const cue of cuesAt(from, to, reading, isLong)) return cue;
  return undefined;
}

/** What a place may be announced as, the likeliest first. An order, or the like, comes only where nothing else is named. */
export function* cuesAt(from: number, to: number, reading: Reading, isLong = false): Generator<Cue> {
  const { tokens, words } = reading;
  const { text } = wordsBefore(tokens, from, isLong ? CUE_WORDS_BEFORE_LONG : CUE_WORDS_BEFORE);
  const before = announcedBy(text, reading);
  if (before && (before.cue !== 'other' || !before.apart)) yield before.cue;
  if (before?.cue === 'other' && !before.apart) return;
  // "For my order …, that is": what is asked for, or said of it behind, counts more.
  yield* personalIn(text, words.cues).reverse();
  yield* personalIn(wordsAfter(tokens, to, 8, { follows: true }), words.cues);
  const { asked, count } = questionBefore(tokens, from, ANSWER_WORDS);
  const question = askedFor(asked, reading);
  const mayBeSecret = () => count <= SHORT_ANSWER_WORDS || isOnlyNumber(from, to, tokens);
  for (const cue of [question, ...personalIn(` ${asked} `, words.cues).reverse()])
    if (cue !== undefined && (cue !== 'secret' || mayBeSecret())) yield cue;
  if (before) yield before.cue;
}

/** Whether no other number is said in the turn: it answers the question, however late it comes. */
function isOnlyNumber(from: number, to: number, tokens: Reading['tokens']): boolean {
  const isSaid = (at: number) => tokens[at]!.said.kind === 'number' && !isArticleWord(tokens[at]!.word);
  const [first, end] = [Math.max(0, from - LONGEST_ANSWER), Math.min(tokens.length, to + LONGEST_ANSWER)];
  for (let at = from - 1; at >= first && tokens[at]!.type !== 'turn'; at--) if (isSaid(at)) return false;
  for (let at = to; at < end && tokens[at]!.type !== 'turn'; at++) if (isSaid(at)) return false;
  return true;
}

const isArticleWord = (word: string) => /^(?:one|eine?[nmrs]?)$/.test(word);

const personalIn = (text: string, cues: Reading['words']['cues']) =>
  cuesIn(text, cues).flatMap(({ cue }) => (cue === 'other' || cue === 'mail' ? [] : [cue]));

/** The cue of a question. */
export function askedFor(asked: string, { words }: Reading): Cue | undefined {
  const text = ` ${asked} `;
  // "Under which telephone number is the booking?"
  const named = cuesIn(text, words.cues, 'mail').findLast(({ start }) =>
    ASKS_WHICH.test(text.slice(0, start)),
  );
  return named?.cue ?? headOf(text, words, () => true)?.cue;
}

const ASKS_WHICH = /(?<![^ ])(?:which|what|what's|welche[rnms]?|wie lautet|wie ist) (?:\p{L}+ ){0,2}$/u;

/** "For your order": what follows belongs to something that was named before. */
const MODIFIES =
  /(?<![^ ])(?:for|of|about|regarding|concerning|on|in|at|with|to|from|für|zu|zur|zum|von|vom|bei|beim|wegen|mit|über|aus|in|im|an|am|auf)(?: (?:the|my|your|our|this|that|his|her|a|an|die|den|der|das|dem|des|meine[rnm]?|mein|ihre[rnm]?|unsere?[rnm]?|diese[rnsm]?|eine[rnm]?))?(?: \p{L}+)? $/u;
/** "I say it over the telephone". */
const BY_MEANS_OF = /(?<![^ ])(?:over the|am|übers|über das) $/u;
const NUMBER_WORDS = /^ ?(?:(?:numbers?|no|nr|nummer|id|code|#) ?)*$/;

/** The last cue; of "the card for your order" the card. @param isApart whether words behind a cue part it from the value */
function headOf(
  text: string,
  words: Reading['words'],
  isApart: (rest: string) => boolean,
): { cue: Cue; rest: string } | undefined {
  // A mail address is known by its form: no number is one.
  const found = cuesIn(text, words.cues, 'mail');
  const last = found.at(-1);
  if (!last) return undefined;
  const rest = text.slice(last.end);
  if (last.cue === 'phone' && BY_MEANS_OF.test(text.slice(0, last.start))) {
    const head = found.findLast(({ cue, end }) => cue !== 'other' && cue !== 'phone' && end <= last.start);
    if (head) return { cue: head.cue, rest: text.slice(head.end) };
  }
  if (last.cue === 'other' && isApart(rest) && MODIFIES.test(text.slice(0, last.start))) {
    const head = found.findLast(({ cue, end }) => cue !== 'other' && end <= last.start);
    if (head) return { cue: head.cue, rest: text.slice(head.end) };
  }
  return { cue: last.cue, rest };
}

/** What the words before a value announce. `apart`: there are other words between than "is" and "number". */
function announcedBy(text: string, { words }: Reading): { cue: Cue; apart: boolean } | undefined {
  const head = headOf(text, words, (rest) => !NUMBER_WORDS.test(rest));
  if (!head) return undefined;
  const between = head.rest.split(' ').filter((word) => word !== '' && word !== '#');
  return { cue: head.cue, apart: between.some((word) => !words.links.has(word) && !words.fillers.has(word)) };
}
