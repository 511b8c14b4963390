import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

/** The SQLite file: opened for this process alone, its statements prepared once, its transactions. */
export class SqliteFile {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /**
   * @param schema run in one transaction, with the version that it makes of the file
   * @throws Error when the file is in use, damaged or of a newer version
   */
  constructor(path: string, synchronous: 'normal' | 'full', schema: { version: number; sql: string }) {
    // It may hold what is nobody else's business; SQLite gives its log the same mode.
    closeSync(openSync(path, 'a', 0o600));
    this.#database = new DatabaseSync(path, { timeout: 1000 });
    try {
      // One process owns the file; a second one is told so instead of sharing it.
      this.#database.exec(`
        PRAGMA page_size = 8192;
        PRAGMA locking_mode = EXCLUSIVE;
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = ${synchronous === 'full' ? 'FULL' : 'NORMAL'};
        PRAGMA cache_size = -65536;
        PRAGMA temp_store = MEMORY;
        BEGIN IMMEDIATE;
      `);
      const { user_version: version } = this.#database.prepare('PRAGMA user_version').get() as {
        user_version: number;
      };
      if (version > schema.version)
        throw new Error(
          `${path} was written by a newer version of this store (${version}): use that version`,
        );
      this.#database.exec(`${schema.sql} PRAGMA user_version = ${schema.version}; COMMIT;`);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  /** False also when SQLite has rolled a transaction back by itself, as it may when the disk is full. */
  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** A statement, prepared once. */
  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /** Runs a statement that changes rows. @returns the id of the row it inserted last */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.statement(sql).run(...values).lastInsertRowid);
  }

  /** Changes which tables there are; statements of tables that are gone must not be kept. */
  changeTables(sql: string): void {
    this.#statements.clear();
    this.#database.exec(sql);
  }

  bytes(): number {
    const { page_count: pages } = this.statement('PRAGMA page_count').get() as { page_count: number };
    const { page_size: size } = this.statement('PRAGMA page_size').get() as { page_size: number };
    return pages * size;
  }
}
