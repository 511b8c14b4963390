import * as nodeFs from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import path from 'node:path';
import t, { type Test } from 'tap';
import { ConsentRecorder } from './consent-recorder.ts';
import { noRecorder, type CallRecorder } from './call-recorder.ts';
import { fileStore, StoreConflictError, uploadStore } from './recording-store.ts';

const TEXT = 'a recording';
const SHA256 = createHash('sha256').update(TEXT).digest('hex');
const FILE = { recordingId: 'rec_1', key: 'org/rec_1.wav', sizeBytes: TEXT.length, sha256: SHA256 };
const never = new AbortController().signal;

function folder(t: Test) {
  const dir = t.testdir({ part: TEXT, storage: {} });
  return { part: path.join(dir, 'part'), storage: path.join(dir, 'storage') };
}

void t.test('a recording is moved to its key, and again changes nothing', async (t) => {
  const { part, storage } = folder(t);
  const store = fileStore(storage, nodeFs);
  await store.store(part, FILE, never);
  const target = path.join(storage, FILE.key);
  t.equal(await nodeFs.readFile(target, 'utf8'), TEXT);
  t.equal((await nodeFs.stat(path.dirname(target))).mode & 0o777, 0o700, 'of nobody else');
  await t.rejects(nodeFs.stat(part), { code: 'ENOENT' });
  await nodeFs.writeFile(part, TEXT);
  await store.store(part, FILE, never);
  await t.rejects(nodeFs.stat(part), { code: 'ENOENT' }, 'the second is not kept');
});

void t.test('another recording under the same key is refused, and both stay', async (t) => {
  for (const other of ['b recording', 'a recording that is longer']) {
    const { part, storage } = folder(t);
    const target = path.join(storage, FILE.key);
    await nodeFs.mkdir(path.dirname(target));
    await nodeFs.writeFile(target, other);
    await t.rejects(fileStore(storage, nodeFs).store(part, FILE, never), StoreConflictError);
    t.equal(await nodeFs.readFile(target, 'utf8'), other);
    t.equal(await nodeFs.readFile(part, 'utf8'), TEXT);
  }
});

void t.test('a key does not lead out of the storage folder', async (t) => {
  const { part, storage } = folder(t);
  for (const key of ['../rec.wav', 'a/../../rec.wav', '../storage-2/rec.wav', '.', '/etc/rec.wav'])
    await t.rejects(fileStore(storage, nodeFs).store(part, { ...FILE, key }, never), /outside/, key);
  t.equal(await nodeFs.readFile(part, 'utf8'), TEXT);
});

void t.test('a disk that refuses keeps the part; only another disk is copied to', async (t) => {
  const { part, storage } = folder(t);
  const refusing = (code: string) =>
    fileStore(storage, {
      ...nodeFs,
      rename: (from: string, to: string) =>
        from === part ? Promise.reject(Object.assign(new Error(code), { code })) : nodeFs.rename(from, to),
    } as typeof nodeFs);
  await t.rejects(refusing('EACCES').store(part, FILE, never), { code: 'EACCES' });
  t.equal(await nodeFs.readFile(part, 'utf8'), TEXT);
  await refusing('EXDEV').store(part, FILE, never);
  t.same(await nodeFs.readdir(path.join(storage, 'org')), ['rec_1.wav']);
  await t.rejects(nodeFs.stat(part), { code: 'ENOENT' });
});

void t.test('the control plane takes a recording, or says why not', async (t) => {
  const { part, storage } = folder(t);
  const uploads: unknown[] = [];
  const answering = (status: number) =>
    uploadStore(
      {
        uploadRecording: async (recordingId, { body, ...file }, signal) => {
          const text = (await buffer(body)).toString();
          uploads.push({ recordingId, ...file, text, given: signal === never });
          return status;
        },
      },
      nodeFs,
    ).store(part, FILE, never);
  await t.rejects(answering(409), StoreConflictError);
  for (const status of [200, 500]) await t.rejects(answering(status), new RegExp(`answered ${status}`));
  t.equal(await nodeFs.readFile(part, 'utf8'), TEXT, 'it is not lost');
  await answering(204);
  await t.rejects(nodeFs.stat(part), { code: 'ENOENT' });
  t.equal(uploads.length, 4);
  t.same(uploads[0], {
    recordingId: 'rec_1',
    sizeBytes: TEXT.length,
    sha256: SHA256,
    text: TEXT,
    given: true,
  });
  t.same(await nodeFs.readdir(storage), []);
});

void t.test('nothing is recorded before the caller agrees, and all of it after', async (t) => {
  const kept: unknown[] = [];
  const redact = { mute: () => undefined, judged: () => undefined };
  const recorder: CallRecorder = {
    caller: (bytes, atMs) => void kept.push(['caller', bytes.length, atMs]),
    agent: (bytes, atMs) => void kept.push(['agent', bytes.length, atMs]),
    finish: (endMs) => Promise.resolve({ recording_id: 'rec_1', status: 'recording', duration_ms: endMs }),
    settled: () => void kept.push(['settled']),
    redact,
  };
  let made = 0;
  const waiting = new ConsentRecorder('rec_1', () => (made++, recorder));
  waiting.caller(new Uint8Array(1), 0);
  waiting.agent(new Uint8Array(1), 0);
  waiting.settled();
  t.equal(waiting.redact, undefined);
  t.same(await waiting.finish(9), { recording_id: 'rec_1', status: 'failed', error: 'no_consent' });
  t.same([kept, made], [[], 0]);
  waiting.begin();
  waiting.begin();
  t.equal(made, 1, 'once');
  waiting.caller(new Uint8Array(2), 20);
  waiting.agent(new Uint8Array(3), 40);
  waiting.settled();
  t.same(kept, [['caller', 2, 20], ['agent', 3, 40], ['settled']]);
  t.equal(waiting.redact, redact);
  t.match(await waiting.finish(9), { status: 'recording', duration_ms: 9 });
  await t.rejects(noRecorder.finish(0), /not recorded/);
});
