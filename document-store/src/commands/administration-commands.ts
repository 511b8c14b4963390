import { MAX_DOCUMENT_BYTES } from '../bson/bson-encoder.ts';
import { CommandError } from '../errors.ts';
import { keyText } from '../storage/index-keys.ts';
import { isDocument, type BsonDocument } from '../bson/values.ts';
import { MAX_MESSAGE_BYTES } from '../protocol/wire.ts';
import type { Command, CommandContext, CommandReply } from './commands.ts';

/** What this store says it is: a standalone server whose commands are those of this version, as far as they go. */
const VERSION = '7.0.0';
const MAX_WIRE_VERSION = 21;

function hello(command: BsonDocument, { connection, startedAt }: CommandContext): CommandReply {
  if ('topologyVersion' in command || 'maxAwaitTimeMS' in command) {
    throw new CommandError(31368, "the awaitable 'hello' is not supported by this store");
  }
  const legacy = !('hello' in command);
  return {
    helloOk: true,
    ...(legacy ? { ismaster: true } : { isWritablePrimary: true }),
    maxBsonObjectSize: MAX_DOCUMENT_BYTES,
    maxMessageSizeBytes: MAX_MESSAGE_BYTES,
    maxWriteBatchSize: 100_000,
    localTime: startedAt,
    logicalSessionTimeoutMinutes: 30,
    connectionId: connection.id,
    minWireVersion: 0,
    maxWireVersion: MAX_WIRE_VERSION,
    readOnly: false,
  };
}

const helloCommand: Command = {
  fields: [
    'helloOk',
    'client',
    'compression',
    'saslSupportedMechs',
    'speculativeAuthenticate',
    'hostInfo',
    'loadBalanced',
    'backpressure',
    'topologyVersion',
    'maxAwaitTimeMS',
  ],
  run: hello,
};

function nothing(...fields: string[]): Command {
  return { fields, run: () => ({}) };
}

const refuseTransactions: Command = {
  fields: ['recoveryToken'],
  refused: true,
  run: () => {
    throw new CommandError(
      'IllegalOperation',
      'Transaction numbers are only allowed on a replica set member or mongos',
    );
  },
};

const refuseAuthentication: Command = {
  fields: ['mechanism', 'payload', 'options', 'conversationId'],
  refused: true,
  run: () => {
    throw new CommandError(334, 'this store has no users: connect without credentials');
  },
};

/** Commands about the server, its sessions and its cursors. */
export const administrationCommands: Record<string, Command> = {
  hello: helloCommand,
  isMaster: helloCommand,
  ping: nothing(),
  endSessions: {
    fields: [],
    run({ endSessions }, { cursors }) {
      if (Array.isArray(endSessions)) for (const session of endSessions) cursors.endSession(keyText(session));
      return {};
    },
  },
  refreshSessions: nothing(),
  startSession: nothing(),
  commitTransaction: refuseTransactions,
  abortTransaction: refuseTransactions,
  saslStart: refuseAuthentication,
  buildInfo: {
    fields: [],
    run: () => ({
      version: VERSION,
      versionArray: [...VERSION.split('.').map(Number), 0],
      gitVersion: '',
      modules: [],
      storageEngines: ['sqlite'],
      bits: 64,
      maxBsonObjectSize: MAX_DOCUMENT_BYTES,
    }),
  },
  connectionStatus: {
    fields: ['showPrivileges'],
    run: () => ({ authInfo: { authenticatedUsers: [], authenticatedUserRoles: [] } }),
  },
  whatsmyuri: { fields: [], run: () => ({ you: '127.0.0.1' }) },
  hostInfo: { fields: [], run: () => ({ system: {}, os: { type: process.platform }, extra: {} }) },
  getParameter: {
    fields: ['featureCompatibilityVersion'],
    run: (command) =>
      'featureCompatibilityVersion' in command ? { featureCompatibilityVersion: { version: '7.0' } } : {},
  },
  getCmdLineOpts: { fields: [], run: () => ({ argv: [], parsed: {} }) },
  serverStatus: {
    fields: ['repl', 'metrics', 'locks', 'network', 'opLatencies', 'opcounters', 'wiredTiger', 'tcmalloc'],
    run: (_, { store, cursors, connection, startedAt }) => ({
      host: 'localhost',
      version: VERSION,
      process: 'parley-document-store',
      pid: BigInt(process.pid),
      uptime: process.uptime(),
      localTime: startedAt,
      connections: { totalCreated: connection.id },
      metrics: { cursor: { open: { total: BigInt(cursors.size) } } },
      mem: { bits: 64, resident: Math.round(process.memoryUsage.rss() / 1024 / 1024) },
      storageEngine: { name: 'sqlite', persistent: true, supportsCommittedReads: true },
      catalogStats: { collections: store.catalog.collections().length },
    }),
  },
  replSetGetStatus: {
    fields: [],
    refused: true,
    run: () => {
      throw new CommandError(76, 'not running with --replSet');
    },
  },
  killCursors: {
    fields: ['cursors'],
    run({ cursors: ids }, { cursors }) {
      const killed: bigint[] = [];
      const notFound: bigint[] = [];
      for (const id of Array.isArray(ids) ? ids : []) {
        if (typeof id !== 'bigint') throw new CommandError('TypeMismatch', 'cursor ids are 64-bit integers');
        (cursors.kill(id) ? killed : notFound).push(id);
      }
      return { cursorsKilled: killed, cursorsNotFound: notFound, cursorsAlive: [], cursorsUnknown: [] };
    },
  },
  listDatabases: {
    fields: ['filter', 'nameOnly', 'authorizedDatabases'],
    run({ filter, nameOnly }, { store }) {
      if (
        filter !== undefined &&
        !(
          isDocument(filter) &&
          Object.keys(filter).every((key) => key === 'name') &&
          typeof (filter.name ?? '') === 'string'
        )
      ) {
        throw new CommandError('BadValue', 'listDatabases can only be filtered by one name in this store');
      }
      const wanted = isDocument(filter) ? filter.name : undefined;
      const names = [...new Set(store.catalog.collections().map(({ database }) => database))]
        .filter((name) => wanted === undefined || name === wanted)
        .sort();
      const size = BigInt(store.fileBytes());
      const databases = names.map((name) =>
        nameOnly === true ? { name } : { name, sizeOnDisk: size, empty: false },
      );
      return nameOnly === true ? { databases } : { databases, totalSize: size, totalSizeMb: size / 1048576n };
    },
  },
};
