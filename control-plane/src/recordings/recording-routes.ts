import { z } from 'zod';
import { ForbiddenError, NotFoundError, UnavailableError } from '@parley/shared/errors/app-error';
import type { AuditLog } from '../audit/audit-trail.ts';
import { fileResponse } from '../http/file-response.ts';
import { queryInteger } from '../http/list-query.ts';
import { defineOperation, HttpResponse, type Operation } from '../http/operation.ts';
import { timestamp } from '../http/record-schema.ts';
import { sessionTarget } from '../sessions/session-target.ts';
import { item } from '../tenancy/target.ts';
import { recordingMediaPath } from './media-links.ts';
import type { MediaLinks } from './media-links.ts';
import { recordingCollection } from './recording-model.ts';
import type { RecordingRecord } from './recording-model.ts';
import type { RecordingService } from './recording-service.ts';

/** What it writes to the audit trail. */
export const RECORDING_AUDIT = ['recording.deleted', 'recording.read'] as const;

const TAG = 'Logs';
const recording = item(recordingCollection, 'recording_id');
const CONTENT_TYPES = { wav: 'audio/wav', mp3: 'audio/mpeg' } as const;
const NOT_READY_RETRY_SECONDS = 30;

const recordingResponse = z
  .object({
    id: z.string(),
    session_id: z.string(),
    status: z.string(),
    channels: z.number().int().nullable(),
    format: z.string(),
    duration_seconds: z.number().nullable(),
    size_bytes: z.number().int().nullable(),
    url: z.string().nullable(),
    url_expires_at: timestamp.nullable(),
  })
  .meta({ id: 'Recording' });

const audio = {
  200: { description: 'WAV or MP3', contentType: 'audio/*' },
  206: { description: 'The requested range', contentType: 'audio/*' },
} as const;

export function recordingRoutes({
  recordings,
  mediaLinks,
  audit,
}: {
  recordings: RecordingService;
  mediaLinks: MediaLinks;
  audit: AuditLog<(typeof RECORDING_AUDIT)[number]>;
}): Operation[] {
  return [
    defineOperation({
      id: 'getSessionRecording',
      method: 'GET',
      path: '/v1/sessions/{session_id}/recording',
      tag: TAG,
      summary: 'Get the recording of a session',
      access: { key: 'viewer', user: 'viewer' },
      target: sessionTarget,
      responses: { 200: { description: 'The recording', schema: recordingResponse } },
      handle: async ({ item }) => {
        const found = item.record ? await recordings.ofSession(item._id) : null;
        if (!found) throw new NotFoundError();
        const link = found.status === 'ready' ? mediaLinks.sign(recordingMediaPath(found._id)) : null;
        return {
          id: found._id,
          session_id: found.session_id,
          status: found.status,
          channels: found.channels,
          format: found.format,
          duration_seconds: found.duration_ms === null ? null : found.duration_ms / 1000,
          size_bytes: found.size_bytes,
          url: link?.url ?? null,
          url_expires_at: link?.expiresAt.toISOString() ?? null,
        };
      },
    }),
    defineOperation({
      id: 'deleteSessionRecording',
      method: 'DELETE',
      path: '/v1/sessions/{session_id}/recording',
      tag: TAG,
      summary: 'Delete the recording of a session',
      access: { key: 'admin', user: 'admin' },
      target: sessionTarget,
      responses: { 204: { description: 'Deleted' } },
      handle: async ({ scope, caller, address, item }) => {
        if ((await recordings.deleteOf(item._id)) === 0) throw new NotFoundError();
        await audit.record({ scope, caller, address, action: 'recording.deleted', target: item._id });
        return new HttpResponse(204, undefined);
      },
    }),
    defineOperation({
      id: 'getRecordingContent',
      method: 'GET',
      path: '/v1/recordings/{recording_id}/content',
      tag: TAG,
      summary: 'Download a recording',
      description: 'Takes `Range`.',
      access: { key: 'viewer', user: 'viewer' },
      target: recording,
      responses: audio,
      errors: [416],
      handle: async ({ scope, caller, address, item, headers }) => {
        const reply = await content(recordings, item, headers.range);
        await audit.record({ scope, caller, address, action: 'recording.read', target: item._id });
        return reply;
      },
    }),
    defineOperation({
      id: 'getRecordingMedia',
      method: 'GET',
      path: '/media/v1/recordings/{recording_id}',
      tag: 'Media',
      summary: 'Download a recording through a signed link',
      description:
        'The signature in the query replaces a credential. 503 with `Retry-After` until the recording is ready.',
      access: 'public',
      query: z.object({
        expires: queryInteger(0, 99_999_999_999),
        signature: z.string().max(128),
      }),
      responses: audio,
      errors: [403, 416],
      handle: async ({ params, query, headers }) => {
        if (!mediaLinks.verify(recordingMediaPath(params.recording_id), query)) {
          throw new ForbiddenError('forbidden', 'The link is invalid or has expired.');
        }
        const found = await recordings.find(params.recording_id);
        if (!found) throw new NotFoundError();
        return content(recordings, found, headers.range);
      },
    }),
  ];
}

/** @throws NotFoundError, UnavailableError, AppError 416 */
async function content(
  recordings: RecordingService,
  found: RecordingRecord,
  rangeHeader: string | undefined,
): Promise<HttpResponse> {
  if (found.status === 'deleted' || found.status === 'failed') throw new NotFoundError();
  const size = found.status === 'ready' ? await recordings.store.size(found.key) : null;
  if (size === null) {
    throw new UnavailableError('The recording is not ready yet. Retry in a few seconds.', {
      retryAfterSeconds: NOT_READY_RETRY_SECONDS,
    });
  }
  return fileResponse(
    {
      size,
      contentType: CONTENT_TYPES[found.format],
      name: `${found._id}.${found.format}`,
      read: (range) => recordings.store.read(found.key, range),
    },
    rangeHeader,
  );
}
