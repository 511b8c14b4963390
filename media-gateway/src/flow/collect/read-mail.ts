import type { DictationTable } from '@parley/shared/languages/dictation/table';
import { tableOf } from '@parley/shared/languages/dictation/tables';
import { readNumber } from '@parley/shared/languages/dictation/tokens';
import { mailsIn } from '@parley/shared/redaction/find-mails';
import { tokensOf, type TextToken } from '@parley/shared/redaction/text-tokens';

const ADDRESS = /^[^\s@.][^\s@]{0,63}@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;
/** Signs that are spoken; every other one is a hyphen. */
const UNDERSCORES = /^(_|underscore|unterstrich|underline|podkreśl.*|subrayado|bajo|bas|basso|alt)$/;

/** The e-mail address of a text, written or spoken ("anna dot smith at example dot com"), in lower case. */
export function readMail(text: string, language: string): string | undefined {
  const table = tableOf(language);
  const tokens = tokensOf(text, 0, table);
  const spans = mailsIn(tokens);
  if (spans.length !== 1) return undefined;
  const { from, at, to } = spans[0]!;
  const address = `${written(tokens.slice(from, at), table)}@${written(tokens.slice(at + 1, to), table)}`;
  return ADDRESS.test(address) ? address : undefined;
}

/** The characters of a stretch of an address. */
function written(tokens: readonly TextToken[], table: DictationTable): string {
  const said = tokens.map((token) => token.said);
  let text = '';
  for (let at = 0; at < tokens.length;) {
    const token = tokens[at]!;
    const { kind, value } = token.said;
    if (token.type === 'word' && (kind === 'number' || kind === 'scale')) {
      const { value: number, length } = readNumber(said, at, table);
      text += number;
      at += Math.max(1, length);
      continue;
    }
    if (kind === 'repeat' && tokens[at + 1]) {
      const next = tokens[at + 1]!;
      const once = next.said.kind === 'number' && next.type === 'word' ? String(next.said.value) : next.word;
      text += once.repeat(value);
      at += 2;
      continue;
    }
    text += character(token);
    at++;
  }
  return text;
}

function character({ word, type, said }: TextToken): string {
  if (type === 'turn' || word === ',') return '';
  if (said.kind === 'dot' || word === '.') return '.';
  if (said.kind === 'plus' || word === '+') return '+';
  const isSign = said.kind === 'sign' || type === 'mark' || word === 'minus';
  if (isSign) return UNDERSCORES.test(word) ? '_' : '-';
  return word;
}
