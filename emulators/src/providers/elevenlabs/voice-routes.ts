import * as z from 'zod';
import { readBody } from '../../server/emulator-server.ts';
import type { EmulatorRequest, HttpAnswer } from '../../server/emulator-server.ts';
import { MODELS, voiceSettings } from './voice-library.ts';
import type { VoiceLibrary } from './voice-library.ts';

/** An ElevenLabs error body. */
export function failure(status: number, id: string, message: string): HttpAnswer {
  return { status, body: { detail: { status: id, message } } };
}

/** The vendor's validation error (FastAPI). */
export function invalid(where: 'body' | 'query', error: z.ZodError): HttpAnswer {
  const detail = error.issues.map(({ path, message, code }) => ({
    loc: [where, ...path],
    msg: message,
    type: code,
  }));
  return { status: 422, body: { detail } };
}

const OK: HttpAnswer = { status: 200, body: { status: 'ok' } };
const MAX_UPLOAD_BYTES = 25 * 1024 * 1024;

const searchQuery = z.object({
  page_size: z.coerce.number().int().min(1).max(100).default(10),
  next_page_token: z.string().default('0'),
  search: z.string().default(''),
  category: z.string().optional(),
});
const labelsField = z.record(z.string(), z.string());

/** Voices and models. @returns undefined for paths that are none of them */
export async function answerVoiceRoute(
  voices: VoiceLibrary,
  request: EmulatorRequest,
  url: URL,
  nowMs: number,
): Promise<HttpAnswer | undefined> {
  const route = `${request.method} ${url.pathname}`;
  if (route === 'GET /v1/models') return { status: 200, body: MODELS };
  if (route === 'GET /v1/voices') return { status: 200, body: { voices: voices.all } };
  if (route === 'GET /v2/voices') return search(voices, url);
  if (route === 'POST /v1/voices/add') return add(voices, request, nowMs);
  const [, version, collection, id, ...rest] = url.pathname.split('/');
  if (version !== 'v1' || collection !== 'voices' || !id) return undefined;
  const voice = voices.get(decodeURIComponent(id));
  if (!voice) return failure(404, 'voice_not_found', `A voice with the id ${id} was not found.`);
  switch (`${request.method} ${rest.join('/')}`) {
    case 'GET ':
      return { status: 200, body: voice };
    case 'DELETE ':
      voices.delete(voice.voice_id);
      return OK;
    case 'GET settings':
      return { status: 200, body: voice.settings };
    case 'POST settings/edit': {
      const parsed = voiceSettings.safeParse(parseJson(await readBody(request, MAX_UPLOAD_BYTES)));
      if (!parsed.success) return invalid('body', parsed.error);
      Object.assign(voice.settings, parsed.data);
      return OK;
    }
    case 'POST edit': {
      const form = await readForm(request);
      const name = form?.get('name');
      if (!form || typeof name !== 'string' || name === '') return missing('name');
      voice.name = name;
      const description = form.get('description');
      if (typeof description === 'string') voice.description = description;
      const labels = parseLabels(form);
      if (!labels) return missing('labels');
      if (form.has('labels')) voice.labels = labels;
      return OK;
    }
    default:
      return undefined;
  }
}

/** @returns undefined when it is not JSON */
export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return undefined;
  }
}

function search(voices: VoiceLibrary, url: URL): HttpAnswer {
  const parsed = searchQuery.safeParse(Object.fromEntries(url.searchParams));
  if (!parsed.success) return invalid('query', parsed.error);
  const { page_size: pageSize, next_page_token: token, search: wanted, category } = parsed.data;
  const found = voices.all.filter(
    (voice) =>
      voice.name.toLowerCase().includes(wanted.toLowerCase()) && (!category || voice.category === category),
  );
  const start = Number(token) || 0;
  const hasMore = start + pageSize < found.length;
  return {
    status: 200,
    body: {
      voices: found.slice(start, start + pageSize),
      has_more: hasMore,
      total_count: found.length,
      next_page_token: hasMore ? String(start + pageSize) : null,
    },
  };
}

async function add(voices: VoiceLibrary, request: EmulatorRequest, nowMs: number): Promise<HttpAnswer> {
  const form = await readForm(request);
  const name = form?.get('name');
  if (!form || typeof name !== 'string' || name === '') return missing('name');
  const files = form.getAll('files').filter((file) => typeof file !== 'string');
  if (files.length === 0) return missing('files');
  const labels = parseLabels(form);
  if (!labels) return missing('labels');
  const description = form.get('description');
  const voice = voices.add({
    name,
    description: typeof description === 'string' ? description : undefined,
    labels,
    files,
    nowMs,
  });
  if (!voice) return failure(400, 'voice_limit_reached', 'The voice limit of the account is reached.');
  return { status: 200, body: { voice_id: voice.voice_id, requires_verification: false } };
}

/** @returns undefined when the field is there and holds no JSON object of strings */
function parseLabels(form: FormData): Record<string, string> | undefined {
  const field = form.get('labels');
  if (field === null || field === '') return {};
  return typeof field === 'string' ? labelsField.safeParse(parseJson(Buffer.from(field))).data : undefined;
}

function missing(field: string): HttpAnswer {
  return {
    status: 422,
    body: { detail: [{ loc: ['body', field], msg: 'Field required', type: 'missing' }] },
  };
}

async function readForm(request: EmulatorRequest): Promise<FormData | undefined> {
  const raw = await readBody(request, MAX_UPLOAD_BYTES);
  const type = request.headers['content-type'] ?? '';
  try {
    return await new Response(Uint8Array.from(raw), { headers: { 'content-type': type } }).formData();
  } catch {
    return undefined;
  }
}
