import type { SQLInputValue } from 'node:sqlite';
import { decodeDocument } from '../bson/bson-decoder.ts';
import { equalValues } from '../bson/compare.ts';
import { CATALOG_TABLES, Catalog, type Collection, type Index } from './catalog.ts';
import { CommandError } from '../errors.ts';
import { keysOf } from './index-keys.ts';
import { matches } from '../matching/matcher.ts';
import { shellText } from '../bson/shell-text.ts';
import { SqliteFile } from './sqlite-file.ts';
import { getField, isDocument, typeName, type Bson, type BsonDocument } from '../bson/values.ts';

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
  readonly catalog: Catalog;
  readonly #file: SqliteFile;
  #countsChanged = false;

  constructor(path: string, synchronous: 'normal' | 'full') {
    this.#file = new SqliteFile(path, synchronous, { version: SCHEMA_VERSION, sql: CATALOG_TABLES });
    try {
      this.catalog = new Catalog(this.#file);
    } catch (error) {
      this.#file.close();
      throw error;
    }
  }

  close(): void {
    this.#file.close();
  }

  begin(): void {
    this.#file.run('BEGIN IMMEDIATE');
  }

  commit(): void {
    this.#file.run('COMMIT');
    this.catalog.committed();
  }

  rollback(): void {
    if (this.inTransaction) this.#file.run('ROLLBACK');
    this.catalog.rolledBack();
  }

  get inTransaction(): boolean {
    return this.#file.inTransaction;
  }

  /** Rows written since the file was opened, those included that were undone. */
  changes(): number {
    return (this.#file.statement('SELECT total_changes() AS n').get() as { n: number }).n;
  }

  /** Runs `work` so that a throw undoes what it wrote, and nothing else of the transaction. */
  savepoint<T>(work: () => T): T {
    this.#file.run('SAVEPOINT command');
    this.#countsChanged = false;
    try {
      const result = work();
      this.#file.run('RELEASE command');
      return result;
    } catch (error) {
      if (this.inTransaction) {
        this.#file.run('ROLLBACK TO command');
        this.#file.run('RELEASE command');
        if (this.#countsChanged || this.catalog.changed) this.catalog.rolledBack();
      }
      throw error;
    }
  }

  /** Builds an index over what the collection holds. @throws CommandError DuplicateKey if the documents forbid it */
  createIndex(collection: Collection, spec: BsonDocument): void {
    const index = this.catalog.createIndexTable(collection, spec);
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
  }

  #keysFor(index: Index, document: BsonDocument): Buffer[] {
    if (index.partial && !matches(index.partial.filter, document)) return [];
    const { keys, multikey, allMissing } = keysOf(document, index.fields);
    if (index.sparse && allMissing) return [];
    this.catalog.widenMultikey(index, multikey);
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
      const found = this.#file.statement(`SELECT id FROM index_${index.id} WHERE key = ?`).get(key) as
        { id: number } | undefined;
      if (found && found.id !== rowId) throw duplicateKey(collection, index, document);
    }
  }

  #addKeys(index: Index, keys: readonly Buffer[], rowId: number): void {
    for (const key of keys)
      this.#file.run(`INSERT INTO index_${index.id} (key, id) VALUES (?, ?)`, key, rowId);
  }

  /** @throws CommandError DuplicateKey, having written nothing */
  insert(collection: Collection, document: BsonDocument, bytes: Uint8Array): void {
    const keys = collection.indexes.map((index) => this.#keysFor(index, document));
    for (const [i, index] of collection.indexes.entries()) {
      this.#checkUnique(collection, index, keys[i]!, undefined, document);
    }
    const rowId = this.#file.run(`INSERT INTO documents_${collection.id} (document) VALUES (?)`, bytes);
    for (const [i, index] of collection.indexes.entries()) this.#addKeys(index, keys[i]!, rowId);
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
    const changed = changedFields(before, after);
    const changes = collection.indexes.flatMap((index) => {
      // Most updates change few fields, and the keys of few indexes.
      if (index.decidedBy && !changed.some((field) => index.decidedBy!.has(field))) return [];
      const old = this.#keysFor(index, before);
      const now = this.#keysFor(index, after);
      return { index, gone: keysWithout(old, now), added: keysWithout(now, old) };
    });
    for (const { index, added } of changes) this.#checkUnique(collection, index, added, rowId, after);
    for (const { index, gone, added } of changes) {
      for (const key of gone)
        this.#file.run(`DELETE FROM index_${index.id} WHERE key = ? AND id = ?`, key, rowId);
      this.#addKeys(index, added, rowId);
    }
    this.#file.run(`UPDATE documents_${collection.id} SET document = ? WHERE id = ?`, bytes, rowId);
  }

  remove(collection: Collection, rowId: number, document: BsonDocument): void {
    for (const index of collection.indexes) {
      for (const key of this.#keysFor(index, document)) {
        this.#file.run(`DELETE FROM index_${index.id} WHERE key = ? AND id = ?`, key, rowId);
      }
    }
    this.#file.run(`DELETE FROM documents_${collection.id} WHERE id = ?`, rowId);
    if (collection.count !== undefined) collection.count -= 1;
    this.#countsChanged = true;
  }

  count(collection: Collection): number {
    collection.count ??= (
      this.#file.statement(`SELECT count(*) AS n FROM documents_${collection.id}`).get() as { n: number }
    ).n;
    return collection.count;
  }

  /** How many keys lie in a range; stops counting at `limit`. */
  countKeys(index: Index, range: KeyRange, limit = Number.MAX_SAFE_INTEGER): number {
    const { where, values } = rangeCondition(range);
    const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM index_${index.id} AS i ${where} LIMIT ?)`;
    return (this.#file.statement(sql).get(...values, limit) as { n: number }).n;
  }

  /** Bytes of the collection's documents. */
  documentBytes(collection: Collection): number {
    const sql = `SELECT coalesce(sum(length(document)), 0) AS n FROM documents_${collection.id}`;
    return (this.#file.statement(sql).get() as { n: number }).n;
  }

  fileBytes(): number {
    return this.#file.bytes();
  }

  /** Rows in the order of insertion, or backwards, after the row `after`. */
  rowsInOrder(collection: Collection, direction: 1 | -1, after: number | undefined, limit: number): Row[] {
    const [operator, order, start] =
      direction === 1 ? ['>', 'ASC', 0] : ['<', 'DESC', Number.MAX_SAFE_INTEGER];
    const sql = `SELECT id AS rowId, document AS bytes FROM documents_${collection.id}
      WHERE id ${operator} ? ORDER BY id ${order} LIMIT ?`;
    return this.#file.statement(sql).all(after ?? start, limit) as unknown as Row[];
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
    return this.#file.statement(sql).all(...values, limit) as unknown as Row[];
  }

  /** Keys within a range and whose they are, in their order: at most `limit`. */
  keysInRange(index: Index, range: KeyRange, limit: number): { key: Uint8Array; rowId: number }[] {
    const { where, values } = rangeCondition(range);
    const sql = `SELECT i.key AS key, i.id AS rowId FROM index_${index.id} AS i ${where} LIMIT ?`;
    return this.#file.statement(sql).all(...values, limit) as unknown as { key: Uint8Array; rowId: number }[];
  }

  /** The row of this id, unless it is gone. */
  rowOf(collection: Collection, rowId: number): Row | undefined {
    const sql = `SELECT id AS rowId, document AS bytes FROM documents_${collection.id} WHERE id = ?`;
    return this.#file.statement(sql).get(rowId) as Row | undefined;
  }

  /** Compares every index with the documents. @returns what does not agree, one line each */
  verify(): string[] {
    const faults: string[] = [];
    for (const collection of this.catalog.collections()) {
      const expected = collection.indexes.map(() => 0);
      for (let after = 0; ;) {
        const rows = this.rowsInOrder(collection, 1, after, 256);
        for (const { rowId, bytes } of rows) {
          const document = decodeDocument(bytes);
          for (const [i, index] of collection.indexes.entries()) {
            for (const key of this.#keysFor(index, document)) {
              expected[i]! += 1;
              const sql = `SELECT 1 FROM index_${index.id} WHERE key = ? AND id = ?`;
              if (!this.#file.statement(sql).get(key, rowId))
                faults.push(`${collection.name}: ${index.name} lacks row ${rowId}`);
            }
          }
        }
        if (rows.length < 256) break;
        after = rows.at(-1)!.rowId;
      }
      for (const [i, index] of collection.indexes.entries()) {
        const { n } = this.#file.statement(`SELECT count(*) AS n FROM index_${index.id}`).get() as {
          n: number;
        };
        if (n !== expected[i])
          faults.push(`${collection.name}: ${index.name} has ${n} keys instead of ${expected[i]}`);
      }
    }
    return faults;
  }
}

/** Those of `keys` that are not among `others`: arrays have thousands. */
function keysWithout(keys: readonly Buffer[], others: readonly Buffer[]): Buffer[] {
  const known = new Set(others.map((key) => key.toString('latin1')));
  return keys.filter((key) => !known.has(key.toString('latin1')));
}

/** Fields of a document that have another value, or are there in one of the two alone. */
function changedFields(before: BsonDocument, after: BsonDocument): string[] {
  const changed = Object.keys(after).filter((field) => !isSame(getField(before, field), after[field]!));
  for (const field of Object.keys(before)) if (getField(after, field) === undefined) changed.push(field);
  return changed;
}

/** Of one type, too: a partial index may ask for it. */
function isSame(a: Bson | undefined, b: Bson | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined || typeName(a) !== typeName(b)) return false;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((element, i) => isSame(element, b[i]));
  if (!isDocument(a) || !isDocument(b)) return equalValues(a, b);
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => isSame(getField(a, name), getField(b, name)))
  );
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
