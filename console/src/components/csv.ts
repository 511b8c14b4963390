/** What a spreadsheet takes for a formula, also behind blanks, and the full-width forms that some take for the same. */
const FORMULA = /^[\s\u{feff}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r]/u;

/** Rows as a file for spreadsheets (RFC 4180), as the API's exports are: what would be run begins with an apostrophe. */
export function csvFile(rows: readonly (readonly (string | number | null)[])[]): Blob {
  const text = rows.map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('');
  // The byte order mark lets spreadsheets read it as UTF-8.
  return new Blob([`\u{feff}${text}`], { type: 'text/csv' });
}

function cellOf(value: string | number | null): string {
  if (typeof value === 'number') return String(value);
  const text = value ?? '';
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
