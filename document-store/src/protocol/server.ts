import { createServer, type Server, type Socket } from 'node:net';
import { chmod, rm } from 'node:fs/promises';
import type { Encodable } from '../bson/bson-encoder.ts';
import type { Commands, Connection } from '../commands/commands.ts';
import { CommandError } from '../errors.ts';
import type { Store } from '../storage/store.ts';
import { MessageReader, WireError, encodeReply, parseMessage, type Request } from './wire.ts';

/** Past this many unread bytes of replies, nothing more is read from a client until it has caught up. */
const MAX_UNSENT_BYTES = 16 * 1024 * 1024;
const MAX_CONNECTIONS = 2000;

interface Job {
  client: Client;
  request: Request;
}

interface Client extends Connection {
  socket: Socket;
  reader: MessageReader;
}

export interface WireServerEvents {
  /** Told of errors that are this store's own fault. */
  onFailure: (error: unknown) => void;
  /** Told when writes begin to fail for want of space, and when they succeed again. */
  onDiskFull: (full: boolean) => void;
}

/**
 * Serves the wire protocol. Commands that arrive in one turn of the loop share one transaction, and their replies leave
 * after its commit: many clients then wait for one flush to the disk together, and none is told of a write too early.
 */
export class WireServer {
  readonly #store: Store;
  readonly #commands: Commands;
  readonly #servers: Server[] = [];
  readonly #clients = new Set<Client>();
  readonly #events: WireServerEvents;
  /** The newest write found no space. Until one succeeds, each command has a transaction of its own, so that reads are served. */
  #diskFull = false;
  /** How many writes found no space. */
  #refused = 0;
  #jobs: Job[] = [];
  #scheduled = false;
  #lastConnectionId = 0;

  constructor(store: Store, commands: Commands, events: WireServerEvents) {
    this.#store = store;
    this.#commands = commands;
    this.#events = events;
  }

  /** @returns the port, or 0 for a path */
  async listen(where: { host: string; port: number } | { path: string }): Promise<number> {
    // A path that a killed process left behind would be in the way; the lock on the file says that process is gone.
    if ('path' in where) await rm(where.path, { force: true });
    const server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
    server.maxConnections = MAX_CONNECTIONS;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(where, () => {
        server.off('error', reject);
        resolve();
      });
    });
    this.#servers.push(server);
    server.on('error', this.#events.onFailure);
    if ('path' in where) {
      await chmod(where.path, 0o600);
      return 0;
    }
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
  }

  /** Ends connections; commands that have arrived are still carried out. */
  async close(): Promise<void> {
    const closed = this.#servers.map((server) => new Promise((resolve) => server.close(resolve)));
    this.#runJobs();
    for (const { socket } of this.#clients) socket.destroySoon();
    await Promise.all(closed);
  }

  #accept(socket: Socket): void {
    const client: Client = { id: ++this.#lastConnectionId, socket, reader: new MessageReader() };
    this.#clients.add(client);
    socket.on('data', (chunk: Buffer) => this.#receive(client, chunk));
    socket.on('drain', () => socket.resume());
    // A reset by the client is its own affair; 'close' follows.
    socket.on('error', () => undefined);
    socket.on('close', () => this.#clients.delete(client));
  }

  #receive(client: Client, chunk: Buffer): void {
    try {
      for (const message of client.reader.push(chunk)) this.#enqueue(client, message);
    } catch (error) {
      if (!(error instanceof WireError)) this.#events.onFailure(error);
      client.socket.destroy();
    }
  }

  #enqueue(client: Client, message: Buffer): void {
    let request: Request;
    try {
      request = parseMessage(message);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      this.#send(client, { requestId: message.readInt32LE(4), form: 'message' }, errorReply(error));
      return;
    }
    this.#jobs.push({ client, request });
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#runJobs());
  }

  #runJobs(): void {
    this.#scheduled = false;
    const jobs = this.#jobs;
    this.#jobs = [];
    if (jobs.length === 0) return;
    for (const batch of this.#diskFull ? jobs.map((job) => [job]) : [jobs]) this.#runBatch(batch);
  }

  #runBatch(jobs: readonly Job[]): void {
    const replies: { [field: string]: Encodable }[] = [];
    try {
      this.#transact(() => {
        for (const { client, request } of jobs) replies.push(this.#run(client, request));
      });
    } catch (error) {
      // Nothing of this batch was kept, so nobody may be told otherwise.
      const reply = errorReply(this.#judge(error, 'could not commit: '));
      replies.splice(0, replies.length, ...jobs.map(() => reply));
    }
    for (const [i, { client, request }] of jobs.entries())
      if (!request.silent) this.#send(client, request, replies[i]!);
  }

  #transact(work: () => void): void {
    const refused = this.#refused;
    const changes = this.#diskFull ? this.#store.changes() : 0;
    this.#store.begin();
    try {
      work();
      this.#store.commit();
    } catch (error) {
      this.#store.rollback();
      throw error;
    }
    if (this.#diskFull && this.#refused === refused && this.#store.changes() > changes)
      this.#setDiskFull(false);
  }

  /** What a client is told of an error that is not its own fault; the owner is told, too. */
  #judge(error: unknown, during = ''): CommandError {
    const message = `${during}${messageOf(error)}`;
    if (!isDiskFull(error)) {
      this.#events.onFailure(error);
      return new CommandError('InternalError', message);
    }
    this.#refused += 1;
    this.#setDiskFull(true);
    return new CommandError('OutOfDiskSpace', message);
  }

  #setDiskFull(full: boolean): void {
    if (this.#diskFull === full) return;
    this.#diskFull = full;
    this.#events.onDiskFull(full);
  }

  #run(client: Client, { database, command }: Request): { [field: string]: Encodable } {
    try {
      return { ...this.#store.savepoint(() => this.#commands.run(client, database, command)), ok: 1 };
    } catch (error) {
      if (error instanceof CommandError) return errorReply(error);
      // Without its transaction the whole batch has failed.
      if (!this.#store.inTransaction) throw error;
      return errorReply(this.#judge(error));
    }
  }

  #send(
    client: Client,
    request: Pick<Request, 'requestId' | 'form'>,
    reply: { [field: string]: Encodable },
  ): void {
    const { socket } = client;
    if (socket.destroyed) return;
    let parts: Buffer[];
    try {
      parts = encodeReply(request, reply);
    } catch (error) {
      parts = encodeReply(request, errorReply(this.#judge(error)));
    }
    socket.cork();
    for (const part of parts) socket.write(part);
    socket.uncork();
    if (socket.writableLength > MAX_UNSENT_BYTES) socket.pause();
  }

  /** Runs work of the store's own in a transaction of its own. */
  maintain(work: () => void): void {
    try {
      this.#transact(work);
    } catch (error) {
      this.#judge(error);
    }
  }
}

function errorReply({ code, codeName, message, details }: CommandError): { [field: string]: Encodable } {
  return { ok: 0, errmsg: message, code, codeName, ...(details as { [field: string]: Encodable }) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * SQLite's codes of a write that found no space (https://www.sqlite.org/rescode.html): SQLITE_FULL, and the I/O errors
 * that a quota or a limit of file sizes leads to, of WRITE, FSYNC, DIR_FSYNC, TRUNCATE, SHMOPEN and SHMSIZE.
 */
const NO_SPACE: readonly unknown[] = [13, 778, 1034, 1290, 1546, 4618, 4874];

function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && NO_SPACE.includes(error.errcode);
}
