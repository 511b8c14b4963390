/** The beginning of a CSV file of people, as the server will read it: what to look at before it is sent. */
export interface CsvPreview {
  header: string[];
  rows: string[][];
  /** What each column becomes, in the order of the header. */
  columns: string[];
  /** Why the server would refuse the file; null: nothing that shows here. */
  problem: string | null;
}

const NUMBERS = ['phone_number', 'phone', 'mobile', 'number', 'contact_number'];
const OWN: Readonly<Record<string, string>> = {
  name: 'name',
  external_id: 'external id',
  timezone: 'timezone',
};

/** @param text the file, or its beginning */
export function previewCsv(text: string, rows = 5): CsvPreview {
  const [header = [], ...records] = readCsv(text, rows + 1);
  const keys = header.map((name) =>
    name
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}_]/gu, '_'),
  );
  const number = NUMBERS.map((name) => keys.indexOf(name)).find((at) => at >= 0);
  const columns = keys.map((key, at) =>
    at === number ? 'number' : (OWN[key] ?? (key === '' ? 'left out' : `variable ${key}`)),
  );
  const problem =
    header.length === 0
      ? 'The file is empty.'
      : number === undefined
        ? `No column has the telephone numbers. Call one ${NUMBERS.join(', ')}.`
        : new Set(keys.filter((key) => key !== '')).size < keys.filter((key) => key !== '').length
          ? 'Two columns have the same name.'
          : null;
  return { header, rows: records, columns, problem };
}

/** Records of a CSV file (RFC 4180; comma, semicolon or tab), the first `limit` of them. Empty lines are none. */
export function readCsv(text: string, limit: number): string[][] {
  const body = text.replace(/^\uFEFF/, '');
  const firstLine = /^[^\r\n]*/.exec(body.replace(/"[^"]*"/g, ''))![0];
  const separator = [',', ';', '\t'].reduce((best, one) =>
    firstLine.split(one).length > firstLine.split(best).length ? one : best,
  );
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
