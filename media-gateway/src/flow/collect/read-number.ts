import { tableOf } from '@parley/shared/languages/dictation/tables';
import { readNumber as readWords, tokenize } from '@parley/shared/languages/dictation/tokens';
import { toLocale } from '@parley/shared/languages/locale';
import { valueWords } from './word-tables.ts';

/** The one number of a text, as JavaScript writes it; undefined: there is none, or more than one. */
export function readNumber(text: string, language: string): string | undefined {
  const table = tableOf(language);
  const { point, minus } = valueWords(language);
  const tokens = tokenize(text, table);
  const found: string[] = [];
  for (let at = 0; at < tokens.length;) {
    const token = tokens[at]!;
    // Halves, and what is said twice, are read by a model.
    if (['fraction', 'half', 'repeat'].includes(token.kind)) return undefined;
    const negative = minus.includes(tokens[at - 1]?.text ?? '') ? '-' : '';
    if (token.kind === 'amount') {
      const amount = amountOf(token.text, language);
      if (amount === undefined) return undefined;
      found.push(negative + amount);
      at++;
      continue;
    }
    const { value, length } = readWords(tokens, at, table);
    if (length === 0) {
      at++;
      continue;
    }
    at += length;
    if (!point.includes(tokens[at]?.text ?? '')) {
      found.push(`${negative}${value}`);
      continue;
    }
    let decimals = '';
    for (at++; tokens[at]?.kind === 'number'; at++)
      decimals += tokens[at]!.figures ? tokens[at]!.text : String(tokens[at]!.value);
    if (decimals === '') return undefined;
    found.push(`${negative}${value}.${decimals}`);
  }
  if (found.length !== 1) return undefined;
  const written = /(?:^|\s)[-−]\s?\d/.test(text) ? '-' : '';
  const number = Number(`${found[0]!.startsWith('-') ? '' : written}${found[0]}`);
  return Number.isFinite(number) ? String(number) : undefined;
}

/** "1,234.50" by the separators of a language; undefined: it is none of a number's. */
function amountOf(text: string, language: string): string | undefined {
  if (text.includes(':')) return undefined;
  const parts = new Intl.NumberFormat(toLocale(language)).formatToParts(1.5);
  const decimal = parts.find(({ type }) => type === 'decimal')?.value ?? '.';
  const separators = [...text].filter((one) => one === '.' || one === ',');
  const last = separators.at(-1)!;
  const [whole, rest] = [text.slice(0, text.lastIndexOf(last)), text.slice(text.lastIndexOf(last) + 1)];
  const groups = last !== decimal && rest.length === 3;
  return groups ? text.replaceAll(/[.,]/g, '') : `${whole.replaceAll(/[.,]/g, '')}.${rest}`;
}
