/** What a column of a file of people becomes. */
export type ColumnUse = 'number' | 'name' | 'external_id' | 'timezone' | 'variable' | 'none';

export const COLUMN_USES: readonly { value: ColumnUse; label: string }[] = [
  { value: 'number', label: 'Number' },
  { value: 'name', label: 'Name' },
  { value: 'external_id', label: 'External ID' },
  { value: 'timezone', label: 'Timezone' },
  { value: 'variable', label: 'Variable' },
  { value: 'none', label: 'Left out' },
];

/** The beginning of a CSV file of people: what to look at before it is sent. */
export interface CsvPreview {
  header: string[];
  rows: string[][];
  /** What the server takes each column for by its name, in the order of the header. */
  uses: ColumnUse[];
}

const NUMBERS = ['phone_number', 'phone', 'mobile', 'number', 'contact_number'];
/** What the server takes columns of these names for. */
const OWN: readonly ColumnUse[] = ['name', 'external_id', 'timezone'];
const TAKEN = [...NUMBERS, ...OWN];

/** @param text the file, or its beginning */
export function previewCsv(text: string, rows = 5): CsvPreview {
  const [header = [], ...records] = readCsv(text, rows + 1);
  const keys = header.map(keyOf);
  const number = NUMBERS.map((name) => keys.indexOf(name)).find((at) => at >= 0);
  const uses = keys.map((key, at): ColumnUse => {
    if (at === number) return 'number';
    return OWN.find((use) => use === key) ?? (key === '' ? 'none' : 'variable');
  });
  return { header, rows: records, uses };
}

/** What the server calls a column. */
function keyOf(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}_]/gu, '_');
}

/**
 * The names of the columns with which the server takes each for what it is to be.
 * @param uses in the order of the header
 */
export function columnNames(header: readonly string[], uses: readonly ColumnUse[]): string[] {
  return header.map((name, at) => {
    const use = uses[at]!;
    if (use === 'none') return '';
    if (use === 'number') return 'phone_number';
    if (use !== 'variable') return use;
    const key = keyOf(name);
    if (key === '') return `column_${at + 1}`;
    // A variable that is called as what the server knows by its name would be taken for that.
    return TAKEN.includes(key) ? `own_${key}` : key;
  });
}

/** Why a file cannot be imported so; null: nothing that shows here. */
export function problemOfColumns(header: readonly string[], uses: readonly ColumnUse[]): string | null {
  if (header.length === 0) return 'The file is empty.';
  if (!uses.includes('number')) return 'Say which column has the telephone numbers.';
  const names = columnNames(header, uses).filter((name) => name !== '');
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice === undefined) return null;
  const what = twice === 'phone_number' ? 'number' : OWN.find((use) => use === twice)?.replace('_', ' ');
  return what === undefined
    ? `Two columns have the name ${twice}. Leave one of them out.`
    : `Two columns are the ${what}. Choose one of them.`;
}

/**
 * The file with other names of its columns; the rest of it is as it was.
 * @param beginning of the file, with the whole header
 */
export function renamed(
  file: Blob,
  beginning: Uint8Array,
  header: readonly string[],
  uses: readonly ColumnUse[],
): Blob {
  const encoding = encodingOf(beginning);
  // In UTF-8, what separates is one byte each, and is no part of any other sign: bytes are counted as signs.
  const counted = new TextDecoder(encoding === 'utf-8' ? 'latin1' : encoding).decode(beginning);
  const { end, separator } = endOfHeader(counted);
  const bytes = encoding === 'utf-8' ? end : 2 * end + 2;
  const text = columnNames(header, uses).map(quoted).join(separator);
  return new Blob([encoded(text, encoding), file.slice(bytes)], { type: 'text/csv' });
}

export function encodingOf([first]: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  return first === 0xff ? 'utf-16le' : first === 0xfe ? 'utf-16be' : 'utf-8';
}

function quoted(cell: string): string {
  return /[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** With the byte order mark that UTF-16 needs. */
function encoded(text: string, encoding: ReturnType<typeof encodingOf>): Uint8Array<ArrayBuffer> {
  if (encoding === 'utf-8') return new TextEncoder().encode(text);
  const bytes = new Uint8Array(2 * text.length + 2);
  const [high, low] = encoding === 'utf-16be' ? [0, 1] : [1, 0];
  for (const [at, unit] of [0xfeff, ...text.split('').map((sign) => sign.charCodeAt(0))].entries()) {
    bytes[2 * at + high!] = unit >> 8;
    bytes[2 * at + low!] = unit & 0xff;
  }
  return bytes;
}

/** A byte order mark, as one sign or as three bytes, and lines that are empty. */
const BEFORE_HEADER = /^(?:\uFEFF|\u00EF\u00BB\u00BF)?[\r\n]*/;

/** Where the line of the header ends, before the sign that ends it, and what separates its cells. */
function endOfHeader(text: string): { end: number; separator: string } {
  const begin = BEFORE_HEADER.exec(text)![0].length;
  let isQuoted = false;
  for (let at = begin; at < text.length; at++) {
    const char = text[at]!;
    if (char === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (char === '\n' || char === '\r')) return { end: at, separator: separatorOf(text) };
  }
  return { end: text.length, separator: separatorOf(text) };
}

function separatorOf(text: string): string {
  const [firstLine] = /^[^\r\n]*/.exec(text.replace(BEFORE_HEADER, '').replace(/"[^"]*"/g, ''))!;
  return [',', ';', '\t'].reduce((best, one) =>
    firstLine.split(one).length > firstLine.split(best).length ? one : best,
  );
}

/** Records of a CSV file (RFC 4180; comma, semicolon or tab), the first `limit` of them. Empty lines are none. */
export function readCsv(text: string, limit: number): string[][] {
  const body = text.replace(/^\uFEFF/, '');
  const separator = separatorOf(body);
  const records: string[][] = [];
  let record: string[] = [];
  let cell = '';
  let quoted = false;
  const endRecord = () => {
    record.push(cell);
    if (record.length > 1 || record[0] !== '') records.push(record);
    record = [];
    cell = '';
  };
  for (let at = 0; at < body.length && records.length < limit; at++) {
    const char = body[at]!;
    if (quoted) {
      if (char !== '"') cell += char;
      else if (body[at + 1] === '"') cell += body[at++];
      else quoted = false;
    } else if (char === '"' && cell === '') quoted = true;
    else if (char === separator) {
      record.push(cell);
      cell = '';
    } else if (char === '\n' || char === '\r') endRecord();
    else cell += char;
  }
  if (records.length < limit) endRecord();
  return records;
}
