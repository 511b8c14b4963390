import type { IncomingMessage } from 'node:http';
import type { Model } from 'mongoose';
import { ConflictError } from '@parley/shared/errors/app-error';
import { readCsvUpload } from '../csv-imports/csv-upload.ts';
import { checkPeople } from '../csv-imports/people-file.ts';
import { peopleColumns } from '../csv-imports/people-columns.ts';
import type { PeopleColumns, PersonProblem } from '../csv-imports/people-columns.ts';
import { parseInput } from '../http/validation.ts';
import { importedId } from '../imports/import-kind.ts';
import type { ImportKind } from '../imports/import-kind.ts';
import type { ImportRecord } from '../imports/import-record.ts';
import type { ImportService } from '../imports/import-service.ts';
import type { Database } from '../storage/database.ts';
import { principalId } from '../tenancy/principal.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Scope } from '../tenancy/scope.ts';
import { recipientListCollection } from './recipient-list-model.ts';
import type { RecipientListRecord } from './recipient-list-model.ts';
import { importRecipientsFields, MAX_ERRORS } from './recipient-list-schema.ts';
import type { ImportedRecipients } from './recipient-list-schema.ts';
import type { NewRecipient, RecipientListService } from './recipient-list-service.ts';

/** Rows that are written at a time. */
const BATCH = 500;
const MAX_REASON = 500;

/** Puts the people of CSV files into lists. */
export class RecipientImports implements ImportKind {
  readonly target = 'recipient_list_id';
  readonly batch = BATCH;
  readonly #lists: Pick<RecipientListService, 'put' | 'room'>;
  readonly #stored: Model<RecipientListRecord>;
  readonly #imports: Pick<ImportService, 'begin'>;

  constructor(deps: {
    lists: Pick<RecipientListService, 'put' | 'room'>;
    database: Database;
    imports: Pick<ImportService, 'begin'>;
  }) {
    this.#lists = deps.lists;
    this.#stored = deps.database.model(recipientListCollection);
    this.#imports = deps.imports;
  }

  /**
   * Takes a file from a multipart body: its rows are read later.
   * @throws as `ImportService.begin`
   */
  begin(
    scope: Scope,
    list: RecipientListRecord,
    caller: Principal,
    request: IncomingMessage,
  ): Promise<ImportRecord> {
    return this.#imports.begin(scope, caller, request, {
      projectId: list.project_id,
      target: { recipient_list_id: list._id },
      fields: ['default_country', 'on_duplicate'],
      check(header, sent) {
        const { default_country = null, on_duplicate } = parseInput(importRecipientsFields, sent, 'body');
        peopleColumns(header);
        return { default_country, on_duplicate };
      },
    });
  }

  async open(claimed: ImportRecord, header: readonly string[]): ReturnType<ImportKind['open']> {
    const columns = peopleColumns(header, { defaultCountry: claimed.default_country ?? undefined });
    const update = claimed.on_duplicate === 'update';
    return async (rows) => {
      const list = await this.#stored
        .findOne({ _id: claimed.recipient_list_id! })
        .lean<RecipientListRecord>();
      if (!list) throw new ConflictError('invalid_state', 'The list was deleted.');
      const read = rows.map(({ record, cells }) => ({ record, ...recipientOf(list, columns, cells) }));
      const people = read.flatMap((one) =>
        'person' in one ? [{ ...one.person, id: importedId('rcp', claimed._id, one.record) }] : [],
      );
      const errors = read.flatMap((one) => ('problems' in one ? [one] : []));
      const by = claimed.created_by;
      const room = await this.#lists.room(list);
      const imported = await this.#lists.put(list, people, { by, source: 'import', update, room });
      const others = people.length - imported;
      return { imported, updated: update ? others : 0, skipped: update ? 0 : others, errors };
    };
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
      const by = principalId(caller);
      let batch: NewRecipient[] = [];
      const store = async (): Promise<void> => {
        const added = await this.#lists.put(list, batch, { by, source: 'import', update, room });
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
