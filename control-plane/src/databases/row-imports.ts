import type { IncomingMessage } from 'node:http';
import type { Model } from 'mongoose';
import { importedId } from '../imports/import-kind.ts';
import type { ImportKind } from '../imports/import-kind.ts';
import type { ImportRecord } from '../imports/import-record.ts';
import type { ImportService } from '../imports/import-service.ts';
import type { Database } from '../storage/database.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Scope } from '../tenancy/scope.ts';
import { databaseCollection } from './database-model.ts';
import type { DatabaseRecord } from './database-model.ts';
import { columnsOf, valuesOf } from './import-columns.ts';
import type { RowStore } from './row-store.ts';

/** Rows that are written at a time. */
const BATCH = 200;

/** Files whose records become rows of databases. */
export class RowImports implements ImportKind {
  readonly target = 'database_id';
  readonly batch = BATCH;
  readonly #databases: Model<DatabaseRecord>;
  readonly #rows: Pick<RowStore, 'insert'>;
  readonly #imports: Pick<ImportService, 'begin'>;

  constructor(deps: {
    database: Database;
    rows: Pick<RowStore, 'insert'>;
    imports: Pick<ImportService, 'begin'>;
  }) {
    this.#databases = deps.database.model(databaseCollection);
    this.#rows = deps.rows;
    this.#imports = deps.imports;
  }

  /** Takes a file from a multipart body: its rows are read later. @throws as `ImportService.begin` */
  begin(
    scope: Scope,
    database: DatabaseRecord,
    caller: Principal,
    request: IncomingMessage,
  ): Promise<ImportRecord> {
    return this.#imports.begin(scope, caller, request, {
      projectId: database.project_id,
      target: { database_id: database._id },
      fields: [],
      check: (header) => {
        columnsOf(database, header);
        return { default_country: null, on_duplicate: null };
      },
    });
  }

  async open(claimed: ImportRecord, header: readonly string[]): ReturnType<ImportKind['open']> {
    const database = await this.#databases.findOne({ _id: claimed.database_id! }).lean<DatabaseRecord>();
    if (!database) return 'The database was deleted.';
    const columns = columnsOf(database, header);
    return async (rows) => {
      const read = rows.map(({ record, cells }) => ({ record, ...valuesOf(columns, cells) }));
      const good = read.flatMap((one) => ('values' in one ? [one] : []));
      const errors = read.flatMap((one) => ('problems' in one ? [one] : []));
      if (good.length > 0)
        await this.#rows.insert(
          database,
          good.map(({ record, values }) => ({
            ...{ id: importedId('dbr', claimed._id, record), values, source: 'api' as const },
          })),
        );
      return { imported: good.length, updated: 0, skipped: 0, errors };
    };
  }
}
