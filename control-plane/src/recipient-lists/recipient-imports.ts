import type { IncomingMessage } from 'node:http';
import { readCsvUpload } from '../csv-imports/csv-upload.ts';
import { checkPeople } from '../csv-imports/people-file.ts';
import type { PeopleColumns, PersonProblem } from '../csv-imports/people-columns.ts';
import { parseInput } from '../http/validation.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { RecipientListRecord } from './recipient-list-model.ts';
import { importRecipientsFields, MAX_ERRORS } from './recipient-list-schema.ts';
import type { ImportedRecipients } from './recipient-list-schema.ts';
import type { NewRecipient, RecipientListService } from './recipient-list-service.ts';

/** Rows that are written at a time. */
const BATCH = 500;
const MAX_REASON = 500;

/** Puts the people of CSV files into lists. */
export class RecipientImports {
  readonly #lists: Pick<RecipientListService, 'put' | 'room'>;

  constructor({ lists }: { lists: Pick<RecipientListService, 'put' | 'room'> }) {
    this.#lists = lists;
  }

  /**
   * Reads the file of a multipart body, a batch of rows in memory at a time. The same file again changes nothing more.
   * @throws AppError 400 `bad_file`, having stored nothing; 413; 415; ConflictError `limit_reached` for the rows from
   * which on the list is full; ValidationError
   */
  async import(
    list: RecipientListRecord,
    caller: Principal,
    request: IncomingMessage,
  ): Promise<ImportedRecipients> {
    return readCsvUpload(request, ['default_country', 'on_duplicate'], async (open, sent) => {
      const fields = parseInput(importRecipientsFields, sent, 'body');
      const columns = await checkPeople(open(), fields.default_country);
      const report: ImportedRecipients = { imported: 0, updated: 0, skipped: 0, errors: [] };
      const update = fields.on_duplicate === 'update';
      let room = await this.#lists.room(list);
      let batch: NewRecipient[] = [];
      const store = async (): Promise<void> => {
        const added = await this.#lists.put(list, batch, { caller, source: 'import', update, room });
        room -= added;
        report.imported += added;
        report[update ? 'updated' : 'skipped'] += batch.length - added;
        batch = [];
      };
      let row = 0;
      for await (const cells of open()) {
        // The header.
        if (row++ === 0) continue;
        const read = recipientOf(list, columns, cells);
        if ('problems' in read) {
          report.skipped++;
          const errors = read.problems.map(({ column, msg }) => ({
            row: row - 1,
            loc: column === '' ? [] : [column],
            msg,
          }));
          report.errors.push(...errors.slice(0, MAX_ERRORS - report.errors.length));
        } else batch.push(read.person);
        if (batch.length >= BATCH) await store();
      }
      if (batch.length > 0) await store();
      return report;
    });
  }
}

/** Who a row puts into a list: of a suppression list the number and why, and it must be one. */
function recipientOf(
  list: RecipientListRecord,
  columns: PeopleColumns,
  cells: readonly string[],
): { person: NewRecipient } | { problems: PersonProblem[] } {
  const read = columns.read(cells);
  if ('problems' in read) return read;
  const { person } = read;
  if (list.kind === 'recipients') return { person: { ...person, reason: null } };
  if (!person.valid)
    return { problems: [{ column: columns.phone, msg: 'is no number that can be dialled' }] };
  const reason = person.variables['reason']?.trim().slice(0, MAX_REASON);
  return { person: { ...person, timezone: null, variables: {}, reason: reason ? reason : null } };
}
