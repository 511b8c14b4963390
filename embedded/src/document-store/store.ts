import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { decodeDocument, encodeDocument } from './bson-codec.ts';
import { CommandError } from './errors.ts';
import { keysOf, type KeyField } from './index-keys.ts';
import { matches, parseFilter, type Filter } from './matcher.ts';
import { shellText } from './shell-text.ts';
import { getField, isDocument, toNumber, type Bson, type BsonDocument } from './values.ts';

export interface Index {
  id: number;
  name: string;
  /** As given to createIndexes, with `v`. */
  spec: BsonDocument;
  keyPattern: BsonDocument;
  fields: readonly KeyField[];
  unique: boolean;
  sparse: boolean;
  partial: { source: BsonDocument; filter: Filter } | undefined;
  expireAfterSeconds: number | undefined;
  /** For each field, whether some document had an array there. Never goes back to false. */
  multikey: boolean[];
}

export interface Collection {
  id: number;
  database: string;
  name: string;
  options: BsonDocument;
  /** `_id_` first. */
  indexes: Index[];
  /** Number of documents; undefined until somebody asks. */
  count: number | undefined;
}

/** A stored document: its row, its bytes, and the key it was found by, if an index found it. */
export interface Row {
  rowId: number;
  bytes: Uint8Array;
  key?: Uint8Array;
}

/** Keys from `low` (included) to `high` (excluded); undefined is the end of the index. */
export interface KeyRange {
  low: Uint8Array;
  high: Uint8Array | undefined;
}

const SCHEMA_VERSION = 1;

/**
 * The documents and their indexes in one SQLite file: for each collection a table of raw BSON by row id, which is the
 * order of insertion, and for each index a table of order-preserving keys. Everything here runs inside a transaction
 * that the caller begins.
 */
export class Store {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #collections = new Map<string, Collection>();
  #catalogChanged = false;
  #countsChanged = false;

  constructor(path: string, synchronous: 'normal' | 'full') {
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
      if (version > SCHEMA_VERSION)
        throw new Error(`${path} was written by a newer version of this store (${version})`);
      this.#database.exec(`
        CREATE TABLE IF NOT EXISTS collections (
          id INTEGER PRIMARY KEY AUTOINCREMENT, database TEXT NOT NULL, name TEXT NOT NULL, options BLOB NOT NULL,
          UNIQUE (database, name));
        CREATE TABLE IF NOT EXISTS indexes (
          id INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL, spec BLOB NOT NULL, multikey TEXT NOT NULL);
        PRAGMA user_version = ${SCHEMA_VERSION};
        COMMIT;
      `);
      this.#loadCatalog();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  begin(): void {
    this.#run('BEGIN IMMEDIATE');
  }

  commit(): void {
    this.#run('COMMIT');
    this.#catalogChanged = false;
  }

  rollback(): void {
    if (this.inTransaction) this.#run('ROLLBACK');
    this.#afterRollback();
  }

  /** False also when SQLite has rolled a transaction back by itself, as it may when the disk is full. */
  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** Rows written since the file was opened, those included that were undone. */
  changes(): number {
    return (this.#statement('SELECT total_changes() AS n').get() as { n: number }).n;
  }

  /** Runs `work` so that a throw undoes what it wrote, and nothing else of the transaction. */
  savepoint<T>(work: () => T): T {
    this.#run('SAVEPOINT command');
    this.#countsChanged = false;
    try {
      const result = work();
      this.#run('RELEASE command');
      return result;
    } catch (error) {
      if (this.inTransaction) {
        this.#run('ROLLBACK TO command');
        this.#run('RELEASE command');
        if (this.#countsChanged || this.#catalogChanged) this.#afterRollback();
      }
      throw error;
    }
  }

  #afterRollback(): void {
    for (const collection of this.#collections.values()) collection.count = undefined;
    if (this.#catalogChanged) this.#loadCatalog();
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  #loadCatalog(): void {
    this.#collections.clear();
    const byId = new Map<number, Collection>();
    for (const row of this.#statement(
      'SELECT id, database, name, options FROM collections ORDER BY id',
    ).all()) {
      const { id, database, name, options } = row as {
        id: number;
        database: string;
        name: string;
        options: Uint8Array;
      };
      const collection = {
        id,
        database,
        name,
        options: decodeDocument(options),
        indexes: [],
        count: undefined,
      };
      byId.set(id, collection);
      this.#collections.set(`${database}.${name}`, collection);
    }
    for (const row of this.#statement(
      'SELECT id, collection, spec, multikey FROM indexes ORDER BY id',
    ).all()) {
      const { id, collection, spec, multikey } = row as {
        id: number;
        collection: number;
        spec: Uint8Array;
        multikey: string;
      };
      byId
        .get(collection)
        ?.indexes.push(toIndex(id, decodeDocument(spec), JSON.parse(multikey) as boolean[]));
    }
  }

  collection(database: string, name: string): Collection | undefined {
    return this.#collections.get(`${database}.${name}`);
  }

  /** The collection as it is now; undefined if it has been dropped meanwhile. */
  current({ id, database, name }: Collection): Collection | undefined {
    const collection = this.#collections.get(`${database}.${name}`);
    return collection?.id === id ? collection : undefined;
  }

  collections(database?: string): Collection[] {
    const all = [...this.#collections.values()];
    return database === undefined ? all : all.filter((collection) => collection.database === database);
  }

  createCollection(database: string, name: string, options: BsonDocument = {}): Collection {
    this.#catalogChanged = true;
    const { lastInsertRowid } = this.#statement(
      'INSERT INTO collections (database, name, options) VALUES (?, ?, ?)',
    ).run(database, name, encodeDocument(options));
    const id = Number(lastInsertRowid);
    this.#database.exec(`CREATE TABLE documents_${id} (id INTEGER PRIMARY KEY, document BLOB NOT NULL)`);
    const collection: Collection = { id, database, name, options, indexes: [], count: 0 };
    this.#collections.set(`${database}.${name}`, collection);
    this.createIndex(collection, { v: 2, key: { _id: 1 }, name: '_id_' });
    return collection;
  }

  dropCollection(collection: Collection): void {
    this.#catalogChanged = true;
    for (const index of [...collection.indexes]) this.#dropIndexTable(index);
    this.#statements.clear();
    this.#database.exec(`DROP TABLE documents_${collection.id}`);
    this.#run('DELETE FROM collections WHERE id = ?', collection.id);
    this.#collections.delete(`${collection.database}.${collection.name}`);
  }

  renameCollection(collection: Collection, database: string, name: string): void {
    this.#catalogChanged = true;
    this.#run('UPDATE collections SET database = ?, name = ? WHERE id = ?', database, name, collection.id);
    this.#collections.delete(`${collection.database}.${collection.name}`);
    collection.database = database;
    collection.name = name;
    this.#collections.set(`${database}.${name}`, collection);
  }

  /** Builds an index over what the collection holds. @throws CommandError DuplicateKey if the documents forbid it */
  createIndex(collection: Collection, spec: BsonDocument): Index {
    this.#catalogChanged = true;
    const fields = Object.keys(spec.key as BsonDocument).length;
    const multikey = new Array<boolean>(fields).fill(false);
    const { lastInsertRowid } = this.#statement(
      'INSERT INTO indexes (collection, spec, multikey) VALUES (?, ?, ?)',
    ).run(collection.id, encodeDocument(spec), JSON.stringify(multikey));
    const index = toIndex(Number(lastInsertRowid), spec, multikey);
    const primary = index.unique ? 'key' : 'key, id';
    this.#database.exec(
      `CREATE TABLE index_${index.id} (key BLOB NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (${primary})) WITHOUT ROWID`,
    );
    let after = 0;
    for (;;) {
      const rows = this.rowsInOrder(collection, 1, after, 256);
      for (const { rowId, bytes } of rows) {
        const document = decodeDocument(bytes);
        const keys = this.#keysFor(index, document);
        this.#checkUnique(collection, index, keys, rowId, document);
        this.#addKeys(index, keys, rowId);
      }
      if (rows.length < 256) break;
      after = rows.at(-1)!.rowId;
    }
    collection.indexes.push(index);
    return index;
  }

  dropIndex(collection: Collection, index: Index): void {
    this.#catalogChanged = true;
    this.#dropIndexTable(index);
    collection.indexes = collection.indexes.filter(({ id }) => id !== index.id);
  }

  #dropIndexTable(index: Index): void {
    this.#statements.clear();
    this.#database.exec(`DROP TABLE index_${index.id}`);
    this.#run('DELETE FROM indexes WHERE id = ?', index.id);
  }

  /** Changes an index's expiry. */
  setExpiry(collection: Collection, index: Index, expireAfterSeconds: number): void {
    this.#catalogChanged = true;
    index.spec = { ...index.spec, expireAfterSeconds };
    index.expireAfterSeconds = expireAfterSeconds;
    this.#run('UPDATE indexes SET spec = ? WHERE id = ?', encodeDocument(index.spec), index.id);
  }

  #keysFor(index: Index, document: BsonDocument): Buffer[] {
    if (index.partial && !matches(index.partial.filter, document)) return [];
    const { keys, multikey, allMissing } = keysOf(document, index.fields);
    if (index.sparse && allMissing) return [];
    if (multikey.some((array, i) => array && !index.multikey[i])) {
      this.#catalogChanged = true;
      index.multikey = index.multikey.map((array, i) => array || multikey[i]!);
      this.#run('UPDATE indexes SET multikey = ? WHERE id = ?', JSON.stringify(index.multikey), index.id);
    }
    return keys;
  }

  #checkUnique(
    collection: Collection,
    index: Index,
    keys: readonly Buffer[],
    rowId: number | undefined,
    document: BsonDocument,
  ): void {
    if (!index.unique) return;
    for (const key of keys) {
      const found = this.#statement(`SELECT id FROM index_${index.id} WHERE key = ?`).get(key) as
        { id: number } | undefined;
      if (found && found.id !== rowId) throw duplicateKey(collection, index, document);
    }
  }

  #addKeys(index: Index, keys: readonly Buffer[], rowId: number): void {
    for (const key of keys) this.#run(`INSERT INTO index_${index.id} (key, id) VALUES (?, ?)`, key, rowId);
  }

  /** @throws CommandError DuplicateKey, having written nothing */
  insert(collection: Collection, document: BsonDocument, bytes: Uint8Array): void {
    const keys = collection.indexes.map((index) => this.#keysFor(index, document));
    for (const [i, index] of collection.indexes.entries()) {
      this.#checkUnique(collection, index, keys[i]!, undefined, document);
    }
    const { lastInsertRowid } = this.#statement(
      `INSERT INTO documents_${collection.id} (document) VALUES (?)`,
    ).run(bytes);
    for (const [i, index] of collection.indexes.entries())
      this.#addKeys(index, keys[i]!, Number(lastInsertRowid));
    if (collection.count !== undefined) collection.count += 1;
    this.#countsChanged = true;
  }

  /** @throws CommandError DuplicateKey, having written nothing */
  update(
    collection: Collection,
    rowId: number,
    before: BsonDocument,
    after: BsonDocument,
    bytes: Uint8Array,
  ): void {
    const changes = collection.indexes.map((index) => {
      const old = this.#keysFor(index, before);
      const now = this.#keysFor(index, after);
      return {
        index,
        gone: old.filter((key) => !now.some((other) => other.equals(key))),
        added: now.filter((key) => !old.some((other) => other.equals(key))),
      };
    });
    for (const { index, added } of changes) this.#checkUnique(collection, index, added, rowId, after);
    for (const { index, gone, added } of changes) {
      for (const key of gone) this.#run(`DELETE FROM index_${index.id} WHERE key = ? AND id = ?`, key, rowId);
      this.#addKeys(index, added, rowId);
    }
    this.#run(`UPDATE documents_${collection.id} SET document = ? WHERE id = ?`, bytes, rowId);
  }

  remove(collection: Collection, rowId: number, document: BsonDocument): void {
    for (const index of collection.indexes) {
      for (const key of this.#keysFor(index, document)) {
        this.#run(`DELETE FROM index_${index.id} WHERE key = ? AND id = ?`, key, rowId);
      }
    }
    this.#run(`DELETE FROM documents_${collection.id} WHERE id = ?`, rowId);
    if (collection.count !== undefined) collection.count -= 1;
    this.#countsChanged = true;
  }

  count(collection: Collection): number {
    collection.count ??= (
      this.#statement(`SELECT count(*) AS n FROM documents_${collection.id}`).get() as { n: number }
    ).n;
    return collection.count;
  }

  /** How many keys lie in a range; stops counting at `limit`. */
  countKeys(index: Index, range: KeyRange, limit = Number.MAX_SAFE_INTEGER): number {
    const { where, values } = rangeCondition(range);
    const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM index_${index.id} AS i ${where} LIMIT ?)`;
    return (this.#statement(sql).get(...values, limit) as { n: number }).n;
  }

  /** Bytes of the collection's documents, and of the whole file. */
  sizes(collection: Collection): { documents: number; file: number } {
    const { n } = this.#statement(
      `SELECT coalesce(sum(length(document)), 0) AS n FROM documents_${collection.id}`,
    ).get() as {
      n: number;
    };
    return { documents: n, file: this.fileBytes() };
  }

  fileBytes(): number {
    const { page_count: pages } = this.#statement('PRAGMA page_count').get() as { page_count: number };
    const { page_size: size } = this.#statement('PRAGMA page_size').get() as { page_size: number };
    return pages * size;
  }

  /** Rows in the order of insertion, or backwards, after the row `after`. */
  rowsInOrder(collection: Collection, direction: 1 | -1, after: number | undefined, limit: number): Row[] {
    const [operator, order, start] =
      direction === 1 ? ['>', 'ASC', 0] : ['<', 'DESC', Number.MAX_SAFE_INTEGER];
    const sql = `SELECT id AS rowId, document AS bytes FROM documents_${collection.id}
      WHERE id ${operator} ? ORDER BY id ${order} LIMIT ?`;
    return this.#statement(sql).all(after ?? start, limit) as unknown as Row[];
  }

  /** Rows in the order of an index, or backwards, within a range and after the row `after`. */
  rowsByIndex(
    collection: Collection,
    index: Index,
    range: KeyRange,
    direction: 1 | -1,
    after: Row | undefined,
    limit: number,
  ): Row[] {
    const { where, values } = rangeCondition(range, after, direction);
    const order = direction === 1 ? 'ASC' : 'DESC';
    const sql = `SELECT i.key AS key, i.id AS rowId, d.document AS bytes
      FROM index_${index.id} AS i CROSS JOIN documents_${collection.id} AS d ON d.id = i.id
      ${where} ORDER BY i.key ${order}, i.id ${order} LIMIT ?`;
    return this.#statement(sql).all(...values, limit) as unknown as Row[];
  }

  /** Compares every index with the documents. @returns what does not agree, one line each */
  verify(): string[] {
    const faults: string[] = [];
    for (const collection of this.#collections.values()) {
      const expected = collection.indexes.map(() => 0);
      for (let after = 0; ;) {
        const rows = this.rowsInOrder(collection, 1, after, 256);
        for (const { rowId, bytes } of rows) {
          const document = decodeDocument(bytes);
          for (const [i, index] of collection.indexes.entries()) {
            for (const key of this.#keysFor(index, document)) {
              expected[i]! += 1;
              const sql = `SELECT 1 FROM index_${index.id} WHERE key = ? AND id = ?`;
              if (!this.#statement(sql).get(key, rowId))
                faults.push(`${collection.name}: ${index.name} lacks row ${rowId}`);
            }
          }
        }
        if (rows.length < 256) break;
        after = rows.at(-1)!.rowId;
      }
      for (const [i, index] of collection.indexes.entries()) {
        const { n } = this.#statement(`SELECT count(*) AS n FROM index_${index.id}`).get() as { n: number };
        if (n !== expected[i])
          faults.push(`${collection.name}: ${index.name} has ${n} keys instead of ${expected[i]}`);
      }
    }
    return faults;
  }
}

function rangeCondition(
  range: KeyRange,
  after?: Row,
  direction: 1 | -1 = 1,
): { where: string; values: SQLInputValue[] } {
  const conditions: string[] = [];
  const values: SQLInputValue[] = [];
  if (after && direction === 1) {
    conditions.push('(i.key, i.id) > (?, ?)');
    values.push(after.key!, after.rowId);
  } else {
    conditions.push('i.key >= ?');
    values.push(range.low);
  }
  if (after && direction === -1) {
    conditions.push('(i.key, i.id) < (?, ?)');
    values.push(after.key!, after.rowId);
  } else if (range.high) {
    conditions.push('i.key < ?');
    values.push(range.high);
  }
  return { where: `WHERE ${conditions.join(' AND ')}`, values };
}

function toIndex(id: number, spec: BsonDocument, multikey: boolean[]): Index {
  const keyPattern = spec.key as BsonDocument;
  const partial = spec.partialFilterExpression;
  return {
    id,
    name: spec.name as string,
    spec,
    keyPattern,
    fields: Object.entries(keyPattern).map(([path, direction]) => ({
      path: path.split('.'),
      descending: (toNumber(direction) ?? 1) < 0,
    })),
    unique: spec.unique === true || spec.name === '_id_',
    sparse: spec.sparse === true,
    partial: isDocument(partial) ? { source: partial, filter: parseFilter(partial) } : undefined,
    expireAfterSeconds: toNumber(spec.expireAfterSeconds),
    multikey,
  };
}

function duplicateKey(collection: Collection, index: Index, document: BsonDocument): CommandError {
  const keyValue: BsonDocument = {};
  for (const field of Object.keys(index.keyPattern))
    keyValue[field] = valueAt(document, field.split('.')) ?? null;
  const where = `${collection.database}.${collection.name} index: ${index.name}`;
  return new CommandError(
    'DuplicateKey',
    `E11000 duplicate key error collection: ${where} dup key: ${shellText(keyValue)}`,
    {
      keyPattern: index.keyPattern,
      keyValue,
    },
  );
}

function valueAt(document: BsonDocument, path: readonly string[]): Bson | undefined {
  let value: Bson | undefined = document;
  for (const part of path) {
    if (Array.isArray(value)) value = value.find(isDocument);
    value = isDocument(value) ? getField(value, part) : undefined;
  }
  return value;
}
