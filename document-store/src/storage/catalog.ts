import { decodeDocument } from '../bson/bson-decoder.ts';
import { encodeDocument } from '../bson/bson-encoder.ts';
import { parseFilter } from '../matching/filter-parser.ts';
import { fieldsOf, type Filter } from '../matching/filter.ts';
import type { KeyField } from './index-keys.ts';
import type { SqliteFile } from './sqlite-file.ts';
import { isDocument, toNumber, type BsonDocument } from '../bson/values.ts';

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
  /** Fields of a document that decide its keys; undefined: any may. */
  decidedBy: ReadonlySet<string> | undefined;
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

/** The tables of the catalog; each collection has a table of documents, each index one of keys. */
export const CATALOG_TABLES = `
  CREATE TABLE IF NOT EXISTS collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT, database TEXT NOT NULL, name TEXT NOT NULL, options BLOB NOT NULL,
    UNIQUE (database, name));
  CREATE TABLE IF NOT EXISTS indexes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL, spec BLOB NOT NULL, multikey TEXT NOT NULL);
`;

/** Which collections and indexes there are: in memory, and as rows and tables of the file. */
export class Catalog {
  readonly #file: SqliteFile;
  readonly #collections = new Map<string, Collection>();
  #changed = false;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#load();
  }

  /** To be called after each commit. */
  committed(): void {
    this.#changed = false;
  }

  /** Whether something was changed since the last commit. */
  get changed(): boolean {
    return this.#changed;
  }

  /** To be called after a rollback: what is in memory may not have come to be. */
  rolledBack(): void {
    for (const collection of this.#collections.values()) collection.count = undefined;
    if (this.#changed) this.#load();
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
    this.#changed = true;
    const id = this.#file.run(
      'INSERT INTO collections (database, name, options) VALUES (?, ?, ?)',
      database,
      name,
      encodeDocument(options),
    );
    this.#file.changeTables(`CREATE TABLE documents_${id} (id INTEGER PRIMARY KEY, document BLOB NOT NULL)`);
    const collection: Collection = { id, database, name, options, indexes: [], count: 0 };
    this.#collections.set(`${database}.${name}`, collection);
    collection.indexes.push(this.createIndexTable(collection, { v: 2, key: { _id: 1 }, name: '_id_' }));
    return collection;
  }

  dropCollection(collection: Collection): void {
    this.#changed = true;
    for (const index of [...collection.indexes]) this.dropIndex(collection, index);
    this.#file.changeTables(`DROP TABLE documents_${collection.id}`);
    this.#file.run('DELETE FROM collections WHERE id = ?', collection.id);
    this.#collections.delete(`${collection.database}.${collection.name}`);
  }

  renameCollection(collection: Collection, database: string, name: string): void {
    this.#changed = true;
    this.#file.run(
      'UPDATE collections SET database = ?, name = ? WHERE id = ?',
      database,
      name,
      collection.id,
    );
    this.#collections.delete(`${collection.database}.${collection.name}`);
    collection.database = database;
    collection.name = name;
    this.#collections.set(`${database}.${name}`, collection);
  }

  /** Makes an index that has no keys yet, and that its collection does not know yet. */
  createIndexTable(collection: Collection, spec: BsonDocument): Index {
    this.#changed = true;
    const fields = Object.keys(spec.key as BsonDocument).length;
    const multikey = new Array<boolean>(fields).fill(false);
    const id = this.#file.run(
      'INSERT INTO indexes (collection, spec, multikey) VALUES (?, ?, ?)',
      collection.id,
      encodeDocument(spec),
      JSON.stringify(multikey),
    );
    const index = toIndex(id, spec, multikey);
    const primary = index.unique ? 'key' : 'key, id';
    this.#file.changeTables(
      `CREATE TABLE index_${id} (key BLOB NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (${primary})) WITHOUT ROWID`,
    );
    return index;
  }

  dropIndex(collection: Collection, index: Index): void {
    this.#changed = true;
    this.#file.changeTables(`DROP TABLE index_${index.id}`);
    this.#file.run('DELETE FROM indexes WHERE id = ?', index.id);
    collection.indexes = collection.indexes.filter(({ id }) => id !== index.id);
  }

  setExpiry(index: Index, expireAfterSeconds: number): void {
    this.#changed = true;
    index.spec = { ...index.spec, expireAfterSeconds };
    index.expireAfterSeconds = expireAfterSeconds;
    this.#file.run('UPDATE indexes SET spec = ? WHERE id = ?', encodeDocument(index.spec), index.id);
  }

  /** Remembers that documents have arrays in these fields of the index. */
  widenMultikey(index: Index, multikey: readonly boolean[]): void {
    if (!multikey.some((array, i) => array && !index.multikey[i])) return;
    this.#changed = true;
    index.multikey = index.multikey.map((array, i) => array || multikey[i]!);
    this.#file.run('UPDATE indexes SET multikey = ? WHERE id = ?', JSON.stringify(index.multikey), index.id);
  }

  #load(): void {
    this.#collections.clear();
    const byId = new Map<number, Collection>();
    for (const row of this.#file
      .statement('SELECT id, database, name, options FROM collections ORDER BY id')
      .all()) {
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
    for (const row of this.#file
      .statement('SELECT id, collection, spec, multikey FROM indexes ORDER BY id')
      .all()) {
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
}

function toIndex(id: number, spec: BsonDocument, multikey: boolean[]): Index {
  const keyPattern = spec.key as BsonDocument;
  const partialFilter = spec.partialFilterExpression;
  const partial = isDocument(partialFilter)
    ? { source: partialFilter, filter: parseFilter(partialFilter) }
    : undefined;
  const fields = Object.entries(keyPattern).map(([path, direction]) => ({
    path: path.split('.'),
    descending: (toNumber(direction) ?? 1) < 0,
  }));
  const filtered = partial ? fieldsOf(partial.filter) : [];
  return {
    id,
    name: spec.name as string,
    spec,
    keyPattern,
    fields,
    decidedBy: filtered && new Set([...filtered, ...fields.map(({ path }) => path[0]!)]),
    unique: spec.unique === true || spec.name === '_id_',
    sparse: spec.sparse === true,
    partial,
    expireAfterSeconds: toNumber(spec.expireAfterSeconds),
    multikey,
  };
}
