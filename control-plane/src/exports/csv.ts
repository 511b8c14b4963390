/** So that spreadsheets read the file as UTF-8. */
export const BYTE_ORDER_MARK = '\u{feff}';

const PLAIN_NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
/** What a spreadsheet takes for a formula, also behind blanks, and the full-width forms that some take for the same. */
const FORMULA = /^[\s\u{feff}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r]/u;

/** A record of a CSV file (RFC 4180), with its line end. Null and undefined are empty cells; objects are JSON. */
export function csvLine(cells: readonly unknown[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: unknown): string {
  const text = defused(asText(value));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function asText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  return JSON.stringify(value);
}

/** With an apostrophe in front of what a spreadsheet would run; a plain number is none of it. */
function defused(text: string): string {
  return FORMULA.test(text) && !PLAIN_NUMBER.test(text) ? `'${text}` : text;
}
