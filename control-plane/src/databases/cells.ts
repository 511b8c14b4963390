import type { Column, ColumnType } from './database-columns.ts';

// A row is found by its cells: texts that sort as the values of one column do. `score\0n\0c05e…` is a number of the
// column `score`, `score\0~` says that the row has none.

/** As many characters of a text are in its cell; longer texts that begin alike are neighbours in no special order. */
export const CELL_CHARACTERS = 200;

/** After every value of a column. */
const EMPTY = '~';

const TAGS: Readonly<Record<ColumnType, string>> = {
  boolean: 'b',
  datetime: 'd',
  enum: 't',
  json: 'j',
  number: 'n',
  phone: 't',
  text: 't',
};

/** What a value sorts by within its column; null and undefined are no value, and come last. */
export function sortText(type: ColumnType, value: unknown): string {
  if (value === null || value === undefined) return EMPTY;
  return `${TAGS[type]}\0${valueText(type, value)}`;
}

function valueText(type: ColumnType, value: unknown): string {
  switch (type) {
    case 'number':
      return orderedNumber(value as number);
    case 'boolean':
      return value === true ? '1' : '0';
    case 'json':
      return '';
    default:
      return beginning(value as string);
  }
}

/** The cell of a value in the index of all columns. */
export function cellOf({ key, type }: Pick<Column, 'key' | 'type'>, value: unknown): string {
  return `${key}\0${sortText(type, value)}`;
}

/** Cells of a column that have a value: from `$gte` on, before `$lt`. */
export function cellsWithValue({ key, type }: Pick<Column, 'key' | 'type'>): { $gte: string; $lt: string } {
  return { $gte: `${key}\0${TAGS[type]}\0`, $lt: `${key}\0${TAGS[type]}\x01` };
}

/** All cells of a column, with a value or without. */
export function cellsOf({ key }: Pick<Column, 'key'>): { $gte: string; $lt: string } {
  return { $gte: `${key}\0`, $lt: `${key}\x01` };
}

/** What a row has in the ordered field of a column: its value's place, then the row's own. */
export function orderText(type: ColumnType, value: unknown, rowId: string): string {
  return `${sortText(type, value)}\0${rowId}`;
}

/** Texts of an ordered field. */
export interface OrderRange {
  $gte: string;
  $lt: string;
}

/** Rows whose value is this one; null: rows that have none. */
export function orderEqual(type: ColumnType, value: unknown): OrderRange {
  const text = sortText(type, value);
  return { $gte: `${text}\0`, $lt: `${text}\x01` };
}

/** Rows with any value. */
export function orderWithValue(type: ColumnType): OrderRange {
  return { $gte: `${TAGS[type]}\0`, $lt: `${TAGS[type]}\x01` };
}

const view = new DataView(new ArrayBuffer(8));

/** 16 hexadecimal digits in the order of the numbers; both zeros are one. */
export function orderedNumber(value: number): string {
  view.setFloat64(0, value === 0 ? 0 : value);
  const bits = view.getBigUint64(0);
  // The sign bit turned over; negative numbers wholly, since a greater magnitude is a lesser number.
  const ordered = bits >> 63n ? ~bits & 0xffff_ffff_ffff_ffffn : bits | 0x8000_0000_0000_0000n;
  return ordered.toString(16).padStart(16, '0');
}

/** Without half of a character at its end. U+0000 ends texts here, and stands as its neighbour U+0001 within one. */
function beginning(text: string): string {
  if (text.length <= CELL_CHARACTERS) return text.replaceAll('\0', '\x01');
  const cut = text.slice(0, CELL_CHARACTERS);
  const whole = cut.isWellFormed() || !text.isWellFormed() ? cut : cut.slice(0, -1);
  return whole.replaceAll('\0', '\x01');
}
