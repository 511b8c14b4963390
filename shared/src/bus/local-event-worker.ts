import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { MAX_DEAD_EVENTS } from './bus-limits.ts';
import { eventPartition } from '../contracts/redis-keys.ts';

/** What the thread is asked to do. Everything in one message shares a transaction. */
export type LocalLogRequest =
  | { type: 'append'; events: { sessionId: string; body: string }[] }
  | { type: 'read'; partitions: readonly number[]; limit: number; now: number }
  | { type: 'pending'; partition: number; idleSince: number }
  | { type: 'claim'; seq: number; idleSince: number; now: number }
  | { type: 'count'; seq: number; deliveries: number }
  | { type: 'acknowledge'; seq: number }
  | { type: 'bury'; seq: number; body: string; reason: string; now: number }
  | { type: 'dead'; after: number; limit: number }
  | { type: 'count_dead' }
  | { type: 'revive'; seq: number; sessionId: string; body: string }
  | { type: 'remove_dead'; seq: number }
  | { type: 'ping' };

export interface LocalLogRow {
  partition: number;
  seq: number;
  session: string;
  body: string;
}

export interface LocalLetterRow {
  seq: number;
  body: string;
  reason: string;
  /** Milliseconds since the epoch. */
  at: number;
}

/** Answers to one message, in its order, or why none of it was done. */
export type LocalLogReply = { results: unknown[] } | { error: string };

export interface LocalLogWorkerData {
  path: string;
  partitions: number;
}

const { path, partitions } = workerData as LocalLogWorkerData;
const db = open();
let waits = true;
const statements = {
  append: db.prepare('INSERT INTO events (partition, session, body) VALUES (?, ?, ?)'),
  read: db.prepare(
    `SELECT partition, seq, session, body FROM events WHERE partition = ? AND taken_at IS NULL
     ORDER BY seq LIMIT ?`,
  ),
  taken: db.prepare('UPDATE events SET deliveries = deliveries + 1, taken_at = ? WHERE seq = ?'),
  pending: db.prepare(
    `SELECT seq, session, taken_at FROM events WHERE partition = ? AND taken_at <= ?
     ORDER BY seq`,
  ),
  one: db.prepare('SELECT body, deliveries, taken_at FROM events WHERE seq = ? AND taken_at IS NOT NULL'),
  count: db.prepare('UPDATE events SET deliveries = ? WHERE seq = ?'),
  remove: db.prepare('DELETE FROM events WHERE seq = ?'),
  bury: db.prepare('INSERT INTO dead (body, reason, at) VALUES (?, ?, ?)'),
  forget: db.prepare(`DELETE FROM dead WHERE seq <= (SELECT max(seq) FROM dead) - ${MAX_DEAD_EVENTS}`),
  dead: db.prepare('SELECT seq, body, reason, at FROM dead WHERE seq > ? ORDER BY seq LIMIT ?'),
  countDead: db.prepare('SELECT count(*) AS letters FROM dead'),
  removeDead: db.prepare('DELETE FROM dead WHERE seq = ?'),
};

parentPort!.on('message', (message: LocalLogRequest[] | 'close') => {
  if (message === 'close') {
    db.close();
    parentPort!.close();
    return;
  }
  let reply: LocalLogReply;
  try {
    waitForDisk(message.some(({ type }) => type === 'append' || type === 'bury' || type === 'revive'));
    db.exec('BEGIN IMMEDIATE');
    const results = message.map(run);
    db.exec('COMMIT');
    reply = { results };
  } catch (error) {
    // SQLite has rolled back by itself after some errors (a full disk among them).
    if (db.isTransaction) db.exec('ROLLBACK');
    reply = { error: error instanceof Error ? error.message : String(error) };
  }
  parentPort!.postMessage(reply);
});
parentPort!.postMessage({ results: [] } satisfies LocalLogReply);

/**
 * An acknowledgement that is lost with the power only makes an event come again, so it need not wait for the disk as
 * an append does. A killed process loses neither.
 */
function waitForDisk(wait: boolean): void {
  if (wait === waits) return;
  db.exec(`PRAGMA synchronous = ${wait ? 'FULL' : 'NORMAL'}`);
  waits = wait;
}

function run(request: LocalLogRequest): unknown {
  switch (request.type) {
    case 'append':
      for (const event of request.events) append(event);
      return undefined;
    case 'read': {
      const rows: LocalLogRow[] = [];
      for (const partition of request.partitions) {
        rows.push(...(statements.read.all(partition, request.limit) as unknown as LocalLogRow[]));
      }
      for (const row of rows) statements.taken.run(request.now, row.seq);
      return rows;
    }
    case 'pending':
      return statements.pending.all(request.partition, request.idleSince);
    case 'claim': {
      const row = statements.one.get(request.seq);
      if (!row) return null;
      if (Number(row['taken_at']) > request.idleSince) return { takenAt: Number(row['taken_at']) };
      statements.taken.run(request.now, request.seq);
      return { body: row['body'], delivery: Number(row['deliveries']) + 1 };
    }
    case 'count':
      statements.count.run(request.deliveries, request.seq);
      return undefined;
    case 'acknowledge':
      statements.remove.run(request.seq);
      return undefined;
    case 'bury':
      if (Number(statements.remove.run(request.seq).changes) === 0) return undefined;
      statements.bury.run(request.body, request.reason, request.now);
      statements.forget.run();
      return undefined;
    case 'dead':
      return statements.dead.all(request.after, request.limit);
    case 'count_dead':
      return Number(statements.countDead.get()!['letters']);
    case 'revive':
      if (Number(statements.removeDead.run(request.seq).changes) === 0) return false;
      append(request);
      return true;
    case 'remove_dead':
      statements.removeDead.run(request.seq);
      return undefined;
    case 'ping':
      return undefined;
  }
}

function append({ sessionId, body }: { sessionId: string; body: string }): void {
  statements.append.run(eventPartition(sessionId, partitions), sessionId, body);
}

function open(): DatabaseSync {
  // What was said in calls is in here: nobody else may read it.
  if (path !== ':memory:') closeSync(openSync(path, 'a', 0o600));
  const database = new DatabaseSync(path);
  try {
    // The lock is kept until the file is closed, so a second process is told instead of taking turns.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    database.exec('PRAGMA journal_mode = WAL');
    database.exec('PRAGMA synchronous = FULL');
    database.exec('PRAGMA secure_delete = ON');
    database.exec('PRAGMA journal_size_limit = 16777216');
    database.exec('BEGIN IMMEDIATE');
    database.exec(`
      CREATE TABLE IF NOT EXISTS events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        partition INTEGER NOT NULL,
        session TEXT NOT NULL,
        body TEXT NOT NULL,
        deliveries INTEGER NOT NULL DEFAULT 0,
        -- Null until it is given to a consumer. Its deliveries may be none even then: not all of them count.
        taken_at INTEGER
      ) STRICT;
      DROP INDEX IF EXISTS events_new;
      DROP INDEX IF EXISTS events_taken;
      CREATE INDEX IF NOT EXISTS events_free ON events (partition, seq) WHERE taken_at IS NULL;
      CREATE INDEX IF NOT EXISTS events_pending ON events (partition, seq) WHERE taken_at IS NOT NULL;
      CREATE TABLE IF NOT EXISTS dead (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        body TEXT NOT NULL,
        reason TEXT NOT NULL,
        at INTEGER NOT NULL
      ) STRICT;
      -- Whoever had these was in a process that is gone: the lock on the file is ours.
      UPDATE events SET taken_at = 0 WHERE taken_at IS NOT NULL;
    `);
    // The number of partitions may have been another one before.
    const move = database.prepare('UPDATE events SET partition = ? WHERE seq = ?');
    const rows = database.prepare('SELECT seq, session, partition FROM events').all();
    for (const row of rows) {
      const partition = eventPartition(String(row['session']), partitions);
      if (partition !== Number(row['partition'])) move.run(partition, row['seq']!);
    }
    database.exec('COMMIT');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
