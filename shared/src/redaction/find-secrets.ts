import { cueAt } from './number-cues.ts';
import { cuesIn, lastCue, wordsAfter, wordsBefore, type Reading } from './findings.ts';
import { touch, type TextToken } from './text-tokens.ts';

const MOST_WORDS = 4;
const ANSWER_WORDS = 9;
/** Keys of well-known services, and tokens (RFC 7519). */
const KEY =
  /^(?:(?:sk|pk|rk)[-_][A-Za-z0-9_-]{12,}|gh[pousr]_[A-Za-z0-9]{20,}|xox[abp]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{12,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]{8,})/;

/** Finds passwords, codes and keys that are words. Codes of digits are found with the numbers. */
export function findSecrets(reading: Reading): void {
  const { tokens, words, findings } = reading;
  let turnStart = 0;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!;
    if (token.type === 'turn') {
      turnStart = at + 1;
      if (token.asked !== undefined && lastCue(` ${token.asked} `, words.cues) === 'secret')
        answered(turnStart, reading);
      continue;
    }
    if (token.type !== 'word') continue;
    if (!isLink(token)) continue;
    const before = secretBefore(tokens, at, reading);
    if (before) announced(at + 1, reading, before === 'bare');
    else if (secretBehind(tokens, at, reading)) announcedBehind(turnStart, at, reading);
  }
  findMixed(reading);
  findKeys(tokens, findings);
}

const isLink = ({ word }: TextToken) => /^(is|was|be|would|it's|ist|war|lautet|heißt|wäre|=)$/.test(word);
/** Words between what is announced and its value that say since when. */
const SINCE = /^(?:used to|will|code|number)?$/;
const OFTEN = /^(?:always|still|now|immer|früher|jetzt|bisher)$/;

/** Behind what is announced: what it is for. */
const WHAT_FOR =
  /^(?:for|to|of|from|on|in|für|zu|zum|zur|von|vom|am|an|im|auf|der|des|beim)(?: \p{L}+){1,4}$/u;

/** The words before are "my password", "the code". @returns whether they also say what it is for */
function secretBefore(
  tokens: readonly TextToken[],
  at: number,
  { words }: Reading,
): 'bare' | 'for something' | undefined {
  const { text } = wordsBefore(tokens, at, 8);
  const secrets = cuesIn(text, words.cues).filter(({ cue }) => cue === 'secret');
  const rests = secrets.map(({ end }) => text.slice(end).trim());
  if (rests.some((rest) => SINCE.test(rest))) return 'bare';
  return WHAT_FOR.test(rests.at(-1) ?? '') ? 'for something' : undefined;
}

/** @param anyWord whatever the value is made of; else only a value that is no plain word */
function announced(from: number, { tokens, words, findings }: Reading, anyWord: boolean): void {
  let at = from;
  while (
    tokens[at] &&
    ((words.links.has(tokens[at]!.word) && tokens[at]!.said.kind !== 'number') ||
      tokens[at]!.word === ':' ||
      OFTEN.test(tokens[at]!.word))
  )
    at++;
  const first = tokens[at];
  if (!first || first.type === 'turn') return;
  const end = endOfValue(tokens, at);
  // "The password is correct": said of it. With more words it is a phrase.
  const said = tokens.slice(at, end).some(({ word }) => words.noValue.has(word));
  if (said || (end === at + 1 && words.saidOfIt.has(first.word))) return;
  if (!anyWord && !hasMixedWord(tokens, at, end)) return;
  findings.claim(at, end, 'secret');
}

/** What follows is "is my password". */
function secretBehind(tokens: readonly TextToken[], at: number, { words }: Reading): boolean {
  const text = wordsAfter(tokens, at + 1, 4, { clause: true });
  const [first] = cuesIn(text, words.cues);
  return (
    first?.cue === 'secret' &&
    /^(?: (?:my|the|our|his|her|mein|meine|das|die|der|unser|unsere))? $/u.test(text.slice(0, first.start))
  );
}

/** "Correct horse is my password". */
function announcedBehind(turnStart: number, to: number, { tokens, words, findings }: Reading): void {
  let from = to;
  let count = 0;
  while (from > turnStart && !/^[.,;:!?]$/.test(tokens[from - 1]!.word)) from--;
  while (from < to && (words.fillers.has(tokens[from]!.word) || words.links.has(tokens[from]!.word))) from++;
  for (let at = from; at < to; at++) {
    if (
      words.noValue.has(tokens[at]!.word) ||
      words.links.has(tokens[at]!.word) ||
      PRONOUN.test(tokens[at]!.word)
    )
      return;
    count++;
  }
  if (count > 0 && count <= MOST_WORDS) findings.claim(from, to, 'secret');
}

const PRONOUN =
  /^(?:this|that|it|he|she|they|these|where|who|how|why|when|i|you|we|dies|dieses|wo|wer|wann|er|sie|wir|ich|what|so|there|wofür|wozu|warum|wieso|weshalb|womit|woher|wohin|welch\p{L}*)$/u;

/** Finds words of letters and figures in one, near what announces a secret. */
function findMixed(reading: Reading): void {
  const { tokens, findings } = reading;
  for (let at = 0; at < tokens.length; at++) {
    let to = at + 1;
    while (to < tokens.length && touch(tokens[to - 1], tokens[to]) && tokens[to]!.type !== 'mark') to++;
    if (tokens[at]!.type !== 'turn' && findings.isFree(at, to) && hasMixedWord(tokens, at, to))
      if (tokens[to - 1]!.end - tokens[at]!.start >= 5 && cueAt(at, to, reading) === 'secret')
        findings.claim(at, to, 'secret');
    at = to - 1;
  }
}

/** @returns the place behind so many words, or the end of the clause */
function endOfValue(tokens: readonly TextToken[], from: number): number {
  let chunks = 0;
  let at = from;
  for (; at < tokens.length; at++) {
    const token = tokens[at]!;
    const apart = at === from || token.start > tokens[at - 1]!.end;
    if (
      token.type === 'turn' ||
      (/^[.,;!?]$/.test(token.word) && (tokens[at + 1]?.start ?? Infinity) > token.end)
    )
      break;
    const spelled = token.said.kind !== 'word' || token.raw.length === 1;
    if (apart && !spelled && ++chunks > MOST_WORDS) break;
  }
  return at;
}

/** The answer to a question for a secret. */
function answered(from: number, { tokens, words, findings }: Reading): void {
  const clauses: [number, number][] = [];
  let start = from;
  let to = from;
  for (; to < tokens.length && tokens[to]!.type !== 'turn'; to++)
    if (/^[.,;!?]$/.test(tokens[to]!.word) && !touch(tokens[to], tokens[to + 1])) {
      clauses.push([start, to]);
      start = to + 1;
    }
  clauses.push([start, to]);
  // Figures are found with the numbers.
  if (
    digitsBetween(tokens, from, to) >= 3 &&
    !clauses.some(([first, end]) => hasMixedWord(tokens, first, end))
  )
    return;
  // A clause with letters and figures in one word is the answer, wherever it stands; else what is said before anything else is.
  const mixed = clauses.find(([first, end]) => hasMixedWord(tokens, first, end));
  const [first, end] = mixed ?? answerOf(clauses, tokens, words);
  let count = 0;
  let refuses = false;
  for (let at = first; at < end; at++) {
    if (tokens[at]!.type === 'word') count++;
    if (words.noValue.has(tokens[at]!.word)) refuses = true;
  }
  if (count > ANSWER_WORDS || refuses) return;
  let at = first;
  while (
    at < end &&
    ((words.links.has(tokens[at]!.word) && tokens[at]!.said.kind !== 'number') ||
      words.fillers.has(tokens[at]!.word) ||
      tokens[at]!.type === 'mark')
  )
    at++;
  if (at < end) findings.claim(at, end, 'secret');
}

function digitsBetween(tokens: readonly TextToken[], from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at++) {
    const { type, raw, said } = tokens[at]!;
    count += type === 'figures' ? raw.length : said.kind === 'number' || said.kind === 'repeat' ? 1 : 0;
  }
  return count;
}

/** A greeting: "hi there". */
const GREETING_WORDS = 2;

/** The clauses of an answer that may be its value, without what is said before and asked behind. */
function answerOf(
  clauses: readonly [number, number][],
  tokens: readonly TextToken[],
  words: Reading['words'],
): [number, number] {
  const isAside = ([first, end]: [number, number]) =>
    tokens[end]?.word === '?' ||
    tokens.slice(first, end).every(({ word }) => words.fillers.has(word) || words.links.has(word));
  const refuses = ([first, end]: [number, number]) =>
    tokens.slice(first, end).some(({ word }) => words.noValue.has(word));
  const from = clauses.findIndex(
    (clause) => !isAside(clause) && !(refuses(clause) && clause[1] - clause[0] <= GREETING_WORDS),
  );
  if (from === -1) return [0, 0];
  let to = from;
  while (clauses[to + 1] && !isAside(clauses[to + 1]!) && !refuses(clauses[to + 1]!)) to++;
  return [clauses[from]![0], clauses[to]![1]];
}

/** Whether letters and figures touch somewhere between two places, or capitals stand within a word. */
function hasMixedWord(tokens: readonly TextToken[], from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const [one, next] = [tokens[at]!, tokens[at + 1]];
    if (/\p{Ll}\p{Lu}/u.test(one.raw) || /\p{L}\d|\d\p{L}/u.test(one.raw)) return true;
    if (
      at + 1 < to &&
      next &&
      touch(one, next) &&
      one.type !== next.type &&
      one.type !== 'mark' &&
      next.type !== 'mark'
    )
      return true;
  }
  return false;
}

function findKeys(tokens: readonly TextToken[], findings: Reading['findings']): void {
  for (let at = 0; at < tokens.length; at++) {
    let to = at + 1;
    while (
      to < tokens.length &&
      tokens[to]!.turn === tokens[at]!.turn &&
      tokens[to]!.start === tokens[to - 1]!.end
    )
      to++;
    if (tokens[to - 1]!.end - tokens[at]!.start >= 16) {
      let text = '';
      for (let place = at; place < to && text.length < 48; place++) text += tokens[place]!.raw;
      if (KEY.test(text)) findings.claim(at, to, 'secret');
    }
    at = to - 1;
  }
}
