import { ForbiddenError, NotFoundError, ValidationError } from '@parley/shared/errors/app-error';
import { z } from 'zod';
import { listOf, toPage } from '../http/list-query.ts';
import {
  defineOperation,
  formBody,
  idSchema,
  jsonBody,
  multipartBody,
  HttpResponse,
} from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { invalid } from '../http/validation.ts';
import type { Access } from '../tenancy/access.ts';
import type { Principal, UserPrincipal } from '../tenancy/principal.ts';
import { queryScope, tenantQuery } from '../tenancy/query-scope.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { Target } from '../tenancy/target.ts';
import type { VoiceRecord } from './voice-model.ts';
import {
  cloneVoiceRequest,
  isClone,
  MAX_CLONE_FILE_BYTES,
  MAX_CLONE_FILES,
  patchVoiceRequest,
  speakRequest,
  toVoiceResponse,
  voiceQuery,
  voiceResponse,
} from './voice-schema.ts';
import type { Voice } from './voice-schema.ts';
import type { VoiceAudition } from './voice-audition.ts';
import type { VoiceCloning } from './voice-cloning.ts';
import type { VoiceReader, VoiceViewer } from './voice-reader.ts';
import type { CloneEditor } from './clone-editor.ts';
import type { SpokenAudio } from './voice-speech.ts';

const tag = 'Voices';
const params = { voice_id: idSchema('voc') };
const USERS = { user: 'editor' } as const;
const AUDIO_HEADERS = { 'Cache-Control': 'private', 'Content-Disposition': 'inline' };
const CLONE_LIMIT_BYTES = MAX_CLONE_FILES * MAX_CLONE_FILE_BYTES + 64 * 1024;

export function voiceRoutes({
  voices,
  audition,
  cloning,
  clones,
}: {
  voices: VoiceReader;
  audition: VoiceAudition;
  cloning: VoiceCloning;
  clones: CloneEditor;
}): Operation[] {
  /** Those of the catalogue and of others are there to be seen, not to be changed. */
  const ownClone: Target<VoiceRecord> = {
    parameter: 'voice_id',
    inProject: false,
    async resolve(access, { params }) {
      const voice = await voices.find(await toViewer(access, null), params['voice_id']!);
      const notYours = new ForbiddenError('forbidden', 'Only voice clones of your own org can be changed.');
      if (!isClone(voice)) throw notYours;
      try {
        return { scope: await access.org(voice.org_id), item: voice };
      } catch (error) {
        throw error instanceof NotFoundError ? notYours : error;
      }
    },
  };
  /** Seen from where the query says; a query that says nothing sensible hides nothing, and is refused later. */
  const seen: Target<Voice, Scope | null> = {
    parameter: 'voice_id',
    inProject: false,
    async resolve(access, { params, query }) {
      const named = z.object(tenantQuery).safeParse(query).data ?? {};
      const scope = await queryScope(access, named).catch((error: unknown) => {
        if (error instanceof ValidationError) return queryScope(access, {});
        throw error;
      });
      return { scope, item: await voices.find(await toViewer(access, scope), params['voice_id']!) };
    },
  };
  return [
    defineOperation({
      id: 'listVoices',
      method: 'GET',
      path: '/v1/voices',
      tag,
      summary: 'List voices',
      description:
        'Voices of the providers, clones of the org (that of the API key, or `org_id`), and public clones of other orgs.',
      access: { key: 'viewer', user: 'viewer' },
      query: voiceQuery,
      responses: { 200: { description: 'A page of voices', schema: listOf(voiceResponse) } },
      handle: async ({ access, query }) => {
        const viewer = await toViewer(access, await queryScope(access, query));
        return toPage(await voices.list(viewer, query), toVoiceResponse);
      },
    }),
    defineOperation({
      id: 'getVoice',
      method: 'GET',
      path: '/v1/voices/{voice_id}',
      tag,
      summary: 'Get a voice',
      access: { key: 'viewer', user: 'viewer' },
      params,
      target: seen,
      query: z.object(tenantQuery),
      responses: { 200: { description: 'The voice', schema: voiceResponse } },
      handle: async ({ access, query, item }) => {
        await queryScope(access, query);
        return toVoiceResponse(item);
      },
    }),
    defineOperation({
      id: 'cloneVoice',
      method: 'POST',
      path: '/v1/voices/clone',
      tag,
      summary: 'Clone a voice from recordings',
      description: 'Returns at once; `status` of the voice tells when the clone is ready or has failed.',
      access: USERS,
      body: multipartBody(cloneVoiceRequest, { limitBytes: CLONE_LIMIT_BYTES }),
      responses: { 202: { description: 'The voice', schema: voiceResponse } },
      errors: [402, 409, 502, 504],
      idempotent: {},
      handle: async ({ access, caller, body }) => {
        const scope = await editorOf(access, body.org_id);
        return toVoiceResponse(await cloning.clone(scope, asUser(caller), body));
      },
    }),
    defineOperation({
      id: 'updateVoice',
      method: 'PATCH',
      path: '/v1/voices/{voice_id}',
      tag,
      summary: 'Update a voice clone',
      description: 'Allowed for the owner of the clone and admins of the org; `is_public` for admins only.',
      access: USERS,
      params,
      target: ownClone,
      body: formBody(patchVoiceRequest, { atLeastOne: true }),
      responses: { 200: { description: 'The voice', schema: voiceResponse } },
      errors: [409],
      handle: async ({ scope, caller, item, body }) =>
        toVoiceResponse(await clones.update(scope, asUser(caller), item, body)),
    }),
    defineOperation({
      id: 'deleteVoice',
      method: 'DELETE',
      path: '/v1/voices/{voice_id}',
      tag,
      summary: 'Delete a voice clone, here and at its provider',
      access: USERS,
      params,
      target: ownClone,
      responses: { 204: { description: 'Deleted' } },
      errors: [409, 502, 504],
      handle: async ({ scope, caller, item }) => {
        await clones.delete(scope, asUser(caller), item);
        return new HttpResponse(204, undefined);
      },
    }),
    defineOperation({
      id: 'previewVoice',
      method: 'GET',
      path: '/v1/voices/{voice_id}/preview',
      tag,
      summary: 'Get a preview of a voice',
      description:
        'The preview of the provider, or one generated now: for that, signed-in users name an org or a project.',
      access: { key: 'viewer', user: 'viewer' },
      params,
      target: seen,
      query: z.object(tenantQuery),
      responses: { 200: { description: 'WAV or MP3', contentType: 'audio/*' } },
      errors: [402, 409, 502, 503, 504],
      handle: async ({ access, query, item, signal }) =>
        toAudio(await audition.preview(await queryScope(access, query), item, signal)),
    }),
    defineOperation({
      id: 'speakWithVoice',
      method: 'POST',
      path: '/v1/voices/{voice_id}/speak',
      tag,
      summary: 'Synthesise speech',
      description: 'Signed-in users name an org or a project. Formats and speeds depend on the voice.',
      access: { key: 'editor', user: 'editor' },
      params,
      target: seen,
      query: z.object(tenantQuery),
      body: jsonBody(speakRequest),
      responses: { 200: { description: 'The audio', contentType: 'audio/*' } },
      errors: [402, 409, 502, 503, 504],
      handle: async ({ access, query, item, body, signal }) => {
        const scope = await queryScope(access, query);
        if (!scope) throw invalid(['query', 'org_id'], 'org_id or project_id is required', 'missing');
        return toAudio(await audition.speak(scope, item, body, signal));
      },
    }),
  ];
}

async function toViewer(access: Access, scope: Scope | null): Promise<VoiceViewer> {
  return {
    orgId: scope?.orgId ?? null,
    projectId: scope?.projectIdOrNull ?? null,
    memberOf: await access.orgIds(),
  };
}

async function editorOf(access: Access, orgId: string): Promise<Scope> {
  let scope: Scope;
  try {
    scope = await access.org(orgId);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    throw invalid(['body', 'org_id'], 'Org not found', 'reference_not_found');
  }
  await access.permit(scope, 'editor', { write: true, feature: 'voice_cloning' });
  return scope;
}

function asUser(caller: Principal): UserPrincipal {
  if (caller.auth !== 'jwt')
    throw new ForbiddenError('user_required', 'This operation requires a signed-in user.');
  return caller;
}

function toAudio({ contentType, bytes }: SpokenAudio): HttpResponse {
  return new HttpResponse(200, bytes, { ...AUDIO_HEADERS, 'Content-Type': contentType });
}
