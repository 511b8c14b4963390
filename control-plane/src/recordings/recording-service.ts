import type { IncomingMessage } from 'node:http';
import type { Model } from 'mongoose';
import type { RecordingResult } from '@parley/shared/contracts/recordings';
import { recordingKey } from '@parley/shared/contracts/recordings';
import { ConflictError, NotFoundError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { recordingCollection } from './recording-model.ts';
import type { RecordingRecord } from './recording-model.ts';
import type { RecordingStore } from './recording-store.ts';

/** Records of recordings; the audio itself is in the `RecordingStore`. */
export class RecordingService {
  readonly #recordings: Model<RecordingRecord>;
  readonly #clock: Clock;
  readonly store: RecordingStore;

  constructor({ database, store, clock }: { database: Database; store: RecordingStore; clock: Clock }) {
    this.#recordings = database.model(recordingCollection);
    this.#clock = clock;
    this.store = store;
  }

  /** The recording of one leg; the same one when asked again. @param format of one that is new */
  async forLeg(
    session: SessionRecord,
    leg: number,
    format: RecordingRecord['format'],
  ): Promise<RecordingRecord> {
    const known = await this.#recordings.findOne({ session_id: session._id, leg }).lean<RecordingRecord>();
    if (known) return known;
    const recordingId = newId('rec', this.#clock.now());
    const ids = { orgId: session.org_id, projectId: session.project_id, sessionId: session._id, recordingId };
    try {
      const Recording = this.#recordings;
      const created = new Recording({
        _id: recordingId,
        org_id: session.org_id,
        project_id: session.project_id,
        session_id: session._id,
        leg,
        status: 'recording',
        key: recordingKey(ids, session.created_at, format),
        format,
      });
      await created.save();
      return created.toObject() as RecordingRecord;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      const winner = await this.#recordings.findOne({ session_id: session._id, leg }).lean<RecordingRecord>();
      if (!winner) throw error;
      return winner;
    }
  }

  /** Takes what the gateway says of a recording. What is ready, failed or deleted does not go back. */
  async apply(sessionId: string, result: RecordingResult): Promise<RecordingRecord | null> {
    const status = result.status === 'stored' ? 'ready' : result.status === 'failed' ? 'failed' : 'recording';
    const before: RecordingRecord['status'][] =
      status === 'ready' ? ['recording', 'processing', 'failed'] : ['recording', 'processing'];
    const applied = await this.#recordings
      .findOneAndUpdate(
        { _id: result.recording_id, session_id: sessionId, status: { $in: before } },
        {
          $set: {
            status,
            ...(result.channels === undefined ? {} : { channels: result.channels }),
            ...(result.duration_ms === undefined ? {} : { duration_ms: result.duration_ms }),
            ...(result.size_bytes === undefined ? {} : { size_bytes: result.size_bytes }),
            ...(result.sha256 === undefined ? {} : { sha256: result.sha256 }),
            error: result.error ?? null,
          },
        },
        { returnDocument: 'after' },
      )
      .lean<RecordingRecord>();
    if (applied || status !== 'ready') return applied;
    // Deleted while the gateway was storing it: what it stored goes too.
    const deleted = await this.#recordings
      .findOne({ _id: result.recording_id, session_id: sessionId, status: 'deleted' })
      .lean<RecordingRecord>();
    if (deleted) await this.store.delete(deleted.key);
    return null;
  }

  /**
   * The call is over, and nobody has said what became of its recording: its gateway is gone. Should one be stored all
   * the same, `apply` hears of it.
   * @param legs those of whom this is so; all without it
   */
  async lost(sessionId: string, legs: { of: number } | { except: number[] } = { except: [] }): Promise<void> {
    const leg = 'of' in legs ? legs.of : { $nin: legs.except };
    await this.#recordings.updateMany(
      { session_id: sessionId, status: 'recording', leg },
      { $set: { status: 'failed', error: 'gateway_lost' } },
    );
  }

  /**
   * Takes the audio from a gateway that shares no storage with us.
   * @throws NotFoundError, ConflictError, AppError 507
   */
  async upload(
    recordingId: string,
    request: IncomingMessage,
    expected: { sizeBytes: number; sha256: string },
  ): Promise<void> {
    const recording = await this.#recordings.findOne({ _id: recordingId }).lean<RecordingRecord>();
    if (!recording) throw new NotFoundError();
    if (recording.status === 'deleted') {
      throw new ConflictError('conflict', 'The recording has been deleted.');
    }
    if (recording.sha256 !== null && recording.sha256 !== expected.sha256) {
      throw new ConflictError('conflict', 'A different recording is already stored under this id.');
    }
    await this.store.write(recording.key, request, expected);
    await this.#recordings.updateOne(
      { _id: recordingId, status: { $in: ['recording', 'failed'] } },
      { $set: { status: 'processing', size_bytes: expected.sizeBytes, sha256: expected.sha256 } },
    );
  }

  /** The one a session is shown with: the first that can be heard, else the first. */
  async ofSession(sessionId: string): Promise<RecordingRecord | null> {
    const all = await this.#recordings
      .find({ session_id: sessionId, status: { $ne: 'deleted' } })
      .sort({ leg: 1 })
      .limit(100)
      .lean<RecordingRecord[]>();
    return all.find((recording) => recording.status === 'ready') ?? all[0] ?? null;
  }

  find(recordingId: string): Promise<RecordingRecord | null> {
    return this.#recordings.findOne({ _id: recordingId }).lean<RecordingRecord>();
  }

  /** Deletes audio and marks the records. @returns how many there were */
  async deleteOf(sessionId: string): Promise<number> {
    const all = await this.#recordings
      .find({ session_id: sessionId, status: { $ne: 'deleted' } })
      .lean<RecordingRecord[]>();
    for (const recording of all) {
      // First the mark: a gateway that is still at work is then refused.
      await this.#recordings.updateOne({ _id: recording._id }, { $set: { status: 'deleted' } });
      await this.store.delete(recording.key);
    }
    return all.length;
  }
}
