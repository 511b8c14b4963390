import type { Encodable } from '../bson/bson-encoder.ts';
import type { Collection } from '../storage/catalog.ts';
import type { Cursors } from '../protocol/cursors.ts';
import { CommandError } from '../errors.ts';
import { evaluateVariables, type Variables } from '../expressions/expression.ts';
import { keyText } from '../storage/index-keys.ts';
import { wholeNumber } from '../bson/numbers.ts';
import type { Store } from '../storage/store.ts';
import { isDocument, toNumber, typeName, type Bson, type BsonDocument } from '../bson/values.ts';
import { administrationCommands } from './administration-commands.ts';
import { catalogCommands } from './catalog-commands.ts';
import { readCommands } from './read-commands.ts';
import { writeCommands } from './write-commands.ts';

export interface Connection {
  id: number;
}

export type CommandReply = { [field: string]: Encodable };

/** What a command works with. */
export interface CommandContext {
  store: Store;
  cursors: Cursors;
  connection: Connection;
  database: string;
  /** The text of the client's session id, if it sent one. */
  session: string | undefined;
  startedAt: Date;
}

export interface Command {
  /** Fields the command has beside the general ones. Any other is refused: ignoring it could mean a wrong answer. */
  fields: readonly string[];
  /** Known so that it can be refused as MongoDB refuses it. */
  refused?: true;
  run(command: BsonDocument, context: CommandContext): CommandReply;
}

/** Fields any command may have. */
const generalFields = new Set([
  '$db',
  '$readPreference',
  '$clusterTime',
  'lsid',
  'apiVersion',
  'apiStrict',
  'apiDeprecationErrors',
  'maxTimeMS',
  'comment',
  'readConcern',
  'writeConcern',
  'collation',
  'let',
  'txnNumber',
  'autocommit',
  'startTransaction',
]);

/** All commands by name, in groups. */
export const commandGroups: Readonly<Record<string, Readonly<Record<string, Command>>>> = {
  Documents: { ...readCommands, ...writeCommands },
  'Collections and indexes': catalogCommands,
  'Server, sessions and cursors': administrationCommands,
};

/** Finds and runs commands by their names. */
export class Commands {
  readonly #commands = new Map<string, Command>();
  readonly #store: Store;
  readonly #cursors: Cursors;

  constructor(store: Store, cursors: Cursors) {
    this.#store = store;
    this.#cursors = cursors;
    for (const group of Object.values(commandGroups)) {
      for (const [name, command] of Object.entries(group)) this.#commands.set(name.toLowerCase(), command);
    }
  }

  /** @throws CommandError which is the reply */
  run(connection: Connection, database: string, command: BsonDocument): CommandReply {
    const name = Object.keys(command)[0] ?? '';
    const found = this.#commands.get(name.toLowerCase());
    if (!found) throw new CommandError('CommandNotFound', `no such command: '${name}'`);
    checkDatabaseName(database);
    for (const field in command) {
      if (field !== name && !generalFields.has(field) && !found.fields.includes(field)) {
        throw new CommandError(40415, `BSON field '${name}.${field}' is an unknown field.`);
      }
    }
    checkGeneralFields(command);
    return found.run(command, {
      store: this.#store,
      cursors: this.#cursors,
      connection,
      database,
      session: command.lsid === undefined ? undefined : keyText(command.lsid),
      startedAt: new Date(),
    });
  }
}

function checkGeneralFields(command: BsonDocument): void {
  if ('txnNumber' in command || 'autocommit' in command || 'startTransaction' in command) {
    throw new CommandError(
      'IllegalOperation',
      'Transaction numbers are only allowed on a replica set member or mongos',
    );
  }
  refuseCollation(command.collation);
  if (command.readConcern !== undefined) {
    const level = isDocument(command.readConcern) ? command.readConcern.level : undefined;
    if (level === 'snapshot' || level === 'linearizable') {
      throw new CommandError('NotAReplicaSet', `read concern ${level} needs a replica set`);
    }
  }
  if (isDocument(command.writeConcern)) {
    const { w } = command.writeConcern;
    if ((toNumber(w) ?? 0) > 1)
      throw new CommandError('BadValue', "cannot use 'w' > 1 when a host is not replicated");
    if (typeof w === 'string' && w !== 'majority')
      throw new CommandError(79, `No write concern mode named '${w}' found in replica set configuration`);
  }
  if (command.apiVersion !== undefined && command.apiVersion !== '1') {
    throw new CommandError(322, `API version must be "1"`);
  }
}

/** Only comparison by bytes is implemented. */
export function refuseCollation(collation: Bson | undefined): void {
  if (
    collation === undefined ||
    (isDocument(collation) && (Object.keys(collation).length === 0 || collation.locale === 'simple'))
  )
    return;
  throw new CommandError('BadValue', 'collations other than simple are not supported by this store');
}

function checkDatabaseName(name: string): void {
  if (name === '' || Buffer.byteLength(name) > 63 || /[\0/\\. "$*<>:|?]/.test(name)) {
    throw new CommandError('InvalidNamespace', `Invalid database name: '${name}'`);
  }
}

/** The collection name a command names in its first field. */
export function collectionName(command: BsonDocument): string {
  const name = Object.values(command)[0];
  if (typeof name !== 'string') {
    throw new CommandError('InvalidNamespace', `collection name has invalid type ${typeName(name)}`);
  }
  return checkCollectionName(name);
}

export function checkCollectionName(name: string): string {
  if (
    name === '' ||
    name.startsWith('.') ||
    name.endsWith('.') ||
    name.includes('$') ||
    name.includes('\0')
  ) {
    throw new CommandError('InvalidNamespace', `Invalid collection name: '${name}'`);
  }
  if (name.startsWith('system.'))
    throw new CommandError('InvalidNamespace', `Invalid system namespace: ${name}`);
  if (Buffer.byteLength(name) > 200)
    throw new CommandError('InvalidNamespace', 'Fully qualified namespace is too long');
  return name;
}

export function collectionFor(context: CommandContext, name: string): Collection {
  return (
    context.store.catalog.collection(context.database, name) ??
    context.store.catalog.createCollection(context.database, name)
  );
}

/** A command's field that has to be a document. */
export function documentField(command: BsonDocument, field: string): BsonDocument | undefined {
  const value = command[field];
  if (value === undefined) return undefined;
  if (!isDocument(value)) {
    throw new CommandError(
      'TypeMismatch',
      `BSON field '${field}' is the wrong type '${typeName(value)}', expected type 'object'`,
    );
  }
  return value;
}

/** The variables of a command's `let`, for its expressions. */
export function variablesOf(command: BsonDocument): Variables {
  return evaluateVariables(documentField(command, 'let') ?? {});
}

/** A command's field that has to be an array of documents. */
export function documentsField(command: BsonDocument, field: string): BsonDocument[] {
  const value = command[field];
  if (value === undefined)
    throw new CommandError(40414, `BSON field '${field}' is missing but a required field`);
  if (!Array.isArray(value) || !value.every(isDocument)) {
    throw new CommandError(
      'TypeMismatch',
      `BSON field '${field}' is the wrong type, expected an array of objects`,
    );
  }
  return value;
}

/** A command's field that has to be a whole number of at least zero. */
export function countField(command: BsonDocument, field: string): number | undefined {
  const value = command[field];
  if (value === undefined || value === null) return undefined;
  const count = wholeNumber(value);
  if (count === undefined)
    throw new CommandError('TypeMismatch', `BSON field '${field}' has to be a whole number`);
  if (count < 0)
    throw new CommandError(51024, `BSON field '${field}' value must be >= 0, actual value '${count}'`);
  return count;
}

export function isSet(value: Bson | undefined): boolean {
  return (
    value === true ||
    (value !== undefined && value !== null && value !== false && (toNumber(value) ?? 1) !== 0)
  );
}
