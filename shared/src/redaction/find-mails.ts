import type { Reading } from './findings.ts';
import { touch, type TextToken } from './text-tokens.ts';

const TOP_LEVEL =
  /^(com|net|org|info|biz|edu|gov|io|app|dev|eu|ai|co|me|tv|online|shop|cloud|tech|store|[a-z]{2})$/;
const LONGEST = 24;
/** Stands before an address, and is none of it. */
const NO_PART = new Set(
  "is it's it its to at an the my me by on us for und ist an die das unter lautet bitte mail email e and or send write use address adresse one with from as auf mir mich of".split(
    ' ',
  ),
);

/** Finds e-mail addresses, written, or spoken: "anna dot smith at example dot com". */
export function findMails({ tokens, findings }: Reading): void {
  for (const { from, to } of mailsIn(tokens)) findings.claim(nameStart(tokens, from), to, 'email');
}

/** Words that are said apart before an address may belong to it: "anna huber 77 at …". Not the whole sentence. */
const MOST_NAME_WORDS = 3;

function nameStart(tokens: readonly TextToken[], from: number): number {
  for (let at = from - 1; at >= Math.max(0, from - MOST_NAME_WORDS - 1); at--) {
    const token = tokens[at]!;
    if (token.type === 'turn' || NO_PART.has(token.word)) return at + 1;
    if (token.type === 'mark') return from;
  }
  return from;
}

/** Where e-mail addresses lie, in tokens. `to` is excluded; `at` is their "@". */
export function mailsIn(tokens: readonly TextToken[]): { from: number; at: number; to: number }[] {
  const found: { from: number; at: number; to: number }[] = [];
  for (let at = 1; at < tokens.length - 1; at++) {
    if (tokens[at]!.said.kind !== 'at' && tokens[at]!.word !== '@') continue;
    const to = domainEnd(tokens, at + 1) ?? providerEnd(tokens, at + 1);
    if (to === undefined) continue;
    const from = localStart(tokens, at - 1);
    if (from === at && tokens[at]!.word !== '@') continue;
    found.push({ from, at, to });
    at = to - 1;
  }
  return found;
}

/** Providers whose addresses are said without what stands behind the dot. */
const PROVIDER = /^(?:gmail|googlemail|hotmail|outlook|yahoo|icloud|gmx|protonmail|aol|freenet)$/;

const providerEnd = (tokens: readonly TextToken[], at: number) =>
  PROVIDER.test(tokens[at]?.word ?? '') ? at + 1 : undefined;

const isDot = (token: TextToken) => token.said.kind === 'dot' || token.word === '.';
/** What may stand apart behind a written dot: "example. com". Two letters there begin a sentence. */
const isLongTopLevel = (token: TextToken | undefined) =>
  token !== undefined && token.word.length > 2 && TOP_LEVEL.test(token.word);
/** Turns and pauses within an address. */
const isNothing = (token: TextToken) => token.type === 'turn' || token.word === ',';
const isSign = (token: TextToken) =>
  token.said.kind === 'sign' ||
  /^[-_+]$/.test(token.word) ||
  token.word === 'minus' ||
  token.word === 'plus' ||
  token.word === 'underscore' ||
  token.word === 'unterstrich';
const isSpelled = (token: TextToken) =>
  token.type === 'figures' ||
  (token.type === 'word' &&
    (token.raw.length === 1 || token.said.kind === 'number' || token.said.kind === 'repeat'));

/** @returns the place behind the domain that begins here; undefined: there is none */
function domainEnd(tokens: readonly TextToken[], start: number): number | undefined {
  let end: number | undefined;
  let dotted = false;
  let words = 0;
  let spelled = '';
  for (let at = start; at < Math.min(tokens.length, start + LONGEST); at++) {
    const token = tokens[at]!;
    if (isDot(token)) {
      // The sentence ends here: what follows stands apart.
      const apart = token.word === '.' && !touch(token, tokens[at + 1]);
      if (apart && (end !== undefined || !isLongTopLevel(tokens[at + 1]))) break;
      dotted = true;
      words = 0;
      spelled = '';
      continue;
    }
    if (isNothing(token)) {
      if (end !== undefined) break;
      continue;
    }
    if (isSign(token)) {
      if (end !== undefined) break;
      continue;
    }
    if (token.type === 'mark') break;
    // Another "at": what stands before it is its name. Behind a dot it is Austria.
    if (token.said.kind === 'at' && !isDot(tokens[at - 1]!)) break;
    if (dotted) {
      // Top-level domains: a word, or letters that are spelled.
      spelled += token.word;
      if (end !== undefined && words > 0 && token.raw.length !== 1) break;
      words++;
      const single = token.raw.length === 1;
      if (TOP_LEVEL.test(single ? spelled : token.word)) end = at + 1;
      else if (!single && words > 1) break;
      else if (end !== undefined && !single) break;
    } else if (++words > 4 && !isSpelled(token)) break;
  }
  return end;
}

function localStart(tokens: readonly TextToken[], end: number): number {
  let from = end + 1;
  let wordAllowed = true;
  for (let at = end; at >= Math.max(0, end - LONGEST); at--) {
    const token = tokens[at]!;
    if (isNothing(token)) continue;
    if (isDot(token) || isSign(token)) {
      // A sentence that ended.
      if (token.type === 'mark' && !touch(token, tokens[at + 1]) && !touch(tokens[at - 1], token)) break;
      if (token.word === '.' && !touch(token, tokens[at + 1])) break;
      wordAllowed = true;
      continue;
    }
    if (isSpelled(token) && !NO_PART.has(token.word)) {
      from = at;
      // What stands directly before belongs to it.
      if (touch(tokens[at - 1], token)) wordAllowed = true;
      continue;
    }
    if (token.type !== 'word' || !wordAllowed || NO_PART.has(token.word)) break;
    from = at;
    wordAllowed = touch(tokens[at - 1], token);
  }
  return from;
}
