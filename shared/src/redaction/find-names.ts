import { FIRST_NAMES } from './first-names.ts';
import { lastCue, wordsAfter, wordsBefore, type Reading } from './findings.ts';
import type { TextToken } from './text-tokens.ts';

const MOST_WORDS = 4;
const ANSWER_WORDS = 7;
const PARTICLES = new Set([
  'von',
  'van',
  'de',
  'der',
  'den',
  'da',
  'di',
  'del',
  'la',
  'le',
  'zu',
  'al',
  'el',
  'bin',
]);
/** Words with a capital that are no names. */
// prettier-ignore
const NO_NAMES = new Set(
  `i i'm yes no hello hi hey good thanks thank please okay ok sure well the a an and but my your it this that monday tuesday wednesday thursday friday
  saturday sunday january february march april may june july august september october november december english german mr mrs ms dr god sorry
  ja nein guten tag morgen abend hallo danke bitte ich sie er wir das die der den ein eine montag dienstag mittwoch donnerstag freitag samstag
  sonntag januar februar märz mai juni juli oktober dezember kunde kundin herr frau doktor mein meine ihr und aber also gut moment name vorname nachname
  right correct fine here speaking calling interested happy glad looking trying just not great there still also actually really afraid doing`.split(/\s+/),
);

/** @param known names that the call knows, in lower case, each a word */
export function findNames(reading: Reading, known: ReadonlySet<string>): void {
  const { tokens, words, findings } = reading;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!;
    if (token.type === 'turn') {
      if (token.asked !== undefined && words.asksName.test(token.asked)) answered(at + 1, reading);
      hereAfter(at + 1, reading);
      continue;
    }
    if (token.type !== 'word' || findings.kinds[at] !== undefined) continue;
    if (known.has(token.word) && (isCapital(token) || token.word.length > 4)) {
      findings.claim(at, at + 1, 'person_name');
      continue;
    }
    const { text } = wordsBefore(tokens, at, 4);
    // In German "date of birth" has a capital, too.
    if (isCapital(token) && lastCue(` ${token.word} `, words.cues) !== undefined) continue;
    const begins = /^[.!?;]$/.test(tokens[at - 1]?.word ?? '');
    if (begins && !words.titles.test(text)) continue;
    if (words.names.test(text)) claimName(at, reading, { anyCase: true });
    else if (words.titles.test(text) && isCapital(token)) claimName(at, reading, { anyCase: false });
    else if (isName(token) && words.relations.test(text)) claimName(at, reading, { anyCase: false });
    else if (isName(token) && words.mayName.test(text) && isLikely(tokens, at, AMONG_OTHERS.test(text)))
      claimName(at, reading, { anyCase: false });
  }
}

const isCapital = ({ raw, type }: TextToken) => type === 'word' && /^\p{Lu}/u.test(raw) && raw.length > 1;
const isName = (token: TextToken | undefined) =>
  token !== undefined && isCapital(token) && !NO_NAMES.has(token.word);

/** Anything may stand behind these. */
const AMONG_OTHERS = /(?<![^ ])(?:mit|für) $/u;

/** A first name that is known, or two words with capitals that stand for themselves. */
function isLikely(tokens: readonly TextToken[], at: number, amongOthers: boolean): boolean {
  if (FIRST_NAMES.has(tokens[at]!.word)) return true;
  if (amongOthers) return false;
  const next = tokens[at + 1];
  if (isName(next) && isName(tokens[at + 1])) return true;
  const rest = wordsAfter(tokens, at + 1, 1).trim();
  // The sentence is over, or who it is goes on to say from where.
  return rest === '' || /^(speaking|here|calling|from|hier|vom|von)$/.test(rest);
}

function claimName(
  from: number,
  { tokens, words, findings }: Reading,
  { anyCase }: { anyCase: boolean },
): void {
  let at = from;
  while (tokens[at] && words.titles.test(` ${tokens[at]!.word} `)) at++;
  const begins = at;
  let end = at;
  let count = 0;
  const first = tokens[at];
  if (!first || first.type !== 'word') return;
  const capital = isCapital(first);
  if (!capital && (!anyCase || words.noValue.has(first.word) || words.links.has(first.word))) return;
  if (capital && NO_NAMES.has(first.word)) return;
  for (; at < tokens.length && count < MOST_WORDS; at++) {
    const token = tokens[at]!;
    if (token.word === '-' || (token.word === '.' && tokens[at - 1]?.raw.length === 1)) continue;
    if (token.type !== 'word') break;
    const spelled = token.raw.length === 1;
    if (PARTICLES.has(token.word) && count > 0 && isCapital(tokens[at + 1] ?? token)) continue;
    if (
      capital
        ? !isName(token) && !(spelled && /\p{Lu}/u.test(token.raw))
        : words.noValue.has(token.word) || words.links.has(token.word) || NO_NAMES.has(token.word)
    )
      break;
    if (!capital && count >= 2 && !spelled) break;
    count++;
    end = at + 1;
  }
  if (end > begins) findings.claim(begins, end, 'person_name');
}

/** The answer to a question for a name. */
function answered(from: number, reading: Reading): void {
  const { tokens, words } = reading;
  let end = from;
  let count = 0;
  for (; end < tokens.length && tokens[end]!.type !== 'turn'; end++)
    if (tokens[end]!.type === 'word') count++;
  if (count > ANSWER_WORDS) return;
  for (let at = from; at < end; at++) {
    if (isName(tokens[at]) && lastCue(` ${tokens[at]!.word} `, words.cues) === undefined) {
      claimName(at, reading, { anyCase: false });
      return;
    }
  }
  let at = from;
  while (
    at < end &&
    (words.links.has(tokens[at]!.word) ||
      words.fillers.has(tokens[at]!.word) ||
      NO_NAMES.has(tokens[at]!.word))
  )
    at++;
  if (at < end && count <= 4) claimName(at, reading, { anyCase: true });
}

/** "Anna Huber here", at the beginning of a turn or behind a greeting. */
function hereAfter(from: number, reading: Reading): void {
  const { tokens, words } = reading;
  for (let at = from; at < Math.min(tokens.length, from + 6); at++) {
    if (!isName(tokens[at])) continue;
    let end = at;
    while (end < tokens.length && isName(tokens[end])) end++;
    if (words.hereAfter.test(wordsAfter(tokens, end, 2))) claimName(at, reading, { anyCase: false });
    return;
  }
}
