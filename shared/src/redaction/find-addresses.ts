import { wordsBefore, type Reading } from './findings.ts';
import type { TextToken } from './text-tokens.ts';

const LONGEST = 14;
const FURTHEST_BACK = 6;

/** Finds postal addresses: streets with their house numbers, what follows of town and code, and announced ones. */
export function findAddresses(reading: Reading): void {
  const { tokens, words, findings } = reading;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!;
    if (token.type === 'turn') {
      if (token.asked !== undefined && words.asksAddress.test(` ${token.asked} `)) announced(at + 1, reading);
      continue;
    }
    if (findings.kinds[at] !== undefined) continue;
    if (words.lives.test(wordsBefore(tokens, at, 6).text)) announced(at, reading);
    else if (token.type === 'word') street(at, reading);
  }
}

const isCapital = (token: TextToken | undefined) => token?.type === 'word' && /^\p{Lu}/u.test(token.raw);
const isNumber = (token: TextToken | undefined) =>
  token !== undefined &&
  (token.type === 'figures' || token.said.kind === 'number' || token.said.kind === 'scale');

function isStreet(token: TextToken, words: Reading['words']): boolean {
  if (words.street.has(token.word)) return true;
  return (
    words.streetEnd !== undefined &&
    token.raw.length > 5 &&
    isCapital(token) &&
    words.streetEnd.test(token.word)
  );
}

function street(at: number, reading: Reading): void {
  const { tokens, words } = reading;
  if (!isStreet(tokens[at]!, words)) return;
  const { numberLast } = words.source;
  if (numberLast) {
    if (!isNumber(tokens[at + 1])) return;
    const alone = words.street.has(tokens[at]!.word);
    const from = alone && isCapital(tokens[at - 1]) ? at - 1 : at;
    if (alone && from === at) return;
    claimTo(from, afterNumber(at + 1, tokens), reading);
    return;
  }
  if (!isCapital(tokens[at]) && !isNumberBefore(tokens, at)) return;
  let from = at;
  for (let place = at - 1; place >= Math.max(0, at - FURTHEST_BACK); place--) {
    const token = tokens[place]!;
    if (isNumber(token)) from = place;
    else if (token.word === 'and' && isNumber(tokens[place - 1])) continue;
    else if (from !== at && isNumber(tokens[from])) break;
    else if (!isCapital(token) && token.type !== 'word') break;
    else if (/^(th|st|nd|rd)$/.test(token.word) || isCapital(token) || place > at - 3) continue;
    else break;
  }
  if (from !== at && isNumber(tokens[from])) claimTo(from, at + 1, reading);
}

function isNumberBefore(tokens: readonly TextToken[], at: number): boolean {
  for (let place = at - 1; place >= Math.max(0, at - 4); place--) {
    if (tokens[place]!.type === 'turn' || tokens[place]!.type === 'mark') return false;
    if (isNumber(tokens[place])) return isCapital(tokens[at - 1]);
  }
  return false;
}

function afterNumber(from: number, tokens: readonly TextToken[]): number {
  let at = from;
  while (isNumber(tokens[at]) || (at > from && tokens[at]?.raw.length === 1 && tokens[at]?.type === 'word'))
    at++;
  return at;
}

/** Claims a street, with the town and code behind it. */
function claimTo(from: number, end: number, { tokens, findings }: Reading): void {
  let to = end;
  let at = end;
  let count = 0;
  if (tokens[at]?.word === ',') at++;
  for (; at < tokens.length && count < 6; at++, count++) {
    const token = tokens[at]!;
    if (token.word === ',') continue;
    if (!isCapital(token) && !(token.type === 'figures' && token.raw.length >= 4)) break;
    to = at + 1;
  }
  findings.claim(from, to, 'address');
}

/** Claims what follows "I live at", as far as it looks like an address. */
function announced(from: number, reading: Reading): void {
  const { tokens, words } = reading;
  let first: number | undefined;
  let last = from;
  let number = false;
  let named = false;
  for (let at = from; at < Math.min(tokens.length, from + LONGEST); at++) {
    const token = tokens[at]!;
    if (token.type === 'turn' || /^[?!;@]$/.test(token.word) || token.said.kind === 'at') break;
    // A telephone number, a date.
    if (reading.findings.kinds[at] !== undefined) break;
    if (token.word === '.' && at > from && !/^(st|rd|ave|str|dr)$/.test(tokens[at - 1]!.word)) break;
    const fits = isNumber(token) || isCapital(token) || isStreet(token, words);
    if (!fits) {
      const within =
        first !== undefined &&
        (token.word === ',' ||
          token.word === 'and' ||
          token.word === 'und' ||
          /^(th|st|nd|rd|of|am|an|in)$/.test(token.word));
      if (within || (first === undefined && at < from + 4) || token.said.kind === 'join') continue;
      break;
    }
    // "The", "Ja", "To": the beginning of the sentence.
    if (
      first === undefined &&
      at === from &&
      isCapital(token) &&
      !isStreet(token, words) &&
      (words.links.has(token.word) ||
        words.fillers.has(token.word) ||
        /^(to|in|on|at|an|zur|zum|nach)$/.test(token.word))
    )
      continue;
    first ??= at;
    last = at + 1;
    number ||= isNumber(token);
    named ||= isStreet(token, words);
  }
  if (first === undefined || !(named || (number && capitalWithin(tokens, first, last)))) return;
  reading.findings.claim(first, last, 'address');
}

function capitalWithin(tokens: readonly TextToken[], from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (isCapital(tokens[at])) return true;
  return false;
}
