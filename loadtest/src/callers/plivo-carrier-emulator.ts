import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { CarrierLine } from './carrier-line.ts';
import type { CarrierEmulator, EmulatedCall, EmulatedCallEnd, PlaceCallOptions } from './emulated-call.ts';

const REQUEST_TIMEOUT_MS = 15_000;
const MAX_BODY_BYTES = 64 * 1024;
/** Plivo dials the stream three times before it gives up. */
const STREAM_TRIES = 3;

/** Signature version 3 over a request with form fields; carriers 1.5. */
export function signPlivoRequest(
  authToken: string,
  url: string,
  fields: Record<string, string>,
  nonce: string,
): string {
  const parsed = new URL(url);
  const query = [...parsed.searchParams]
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(([key, value]) => `${key}=${value}`)
    .join('&');
  const form = Object.entries(fields)
    .sort(([a], [b]) => compare(a, b))
    .map(([key, value]) => key + value)
    .join('');
  let base = `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
  if (query !== '' || form !== '') base += '?';
  base += query;
  if (query !== '' && form !== '') base += '.';
  base += form;
  return createHmac('sha256', authToken).update(`${base}.${nonce}`).digest('base64');
}

/** The upgrade is signed as a GET of the stream's address with `http` for `wss`. */
export function signPlivoUpgrade(authToken: string, streamUrl: string, nonce: string): string {
  return createHmac('sha256', authToken)
    .update(`${streamUrl.replace(/^wss?:/, 'http:')}.${nonce}`)
    .digest('base64');
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
const digits = (number: string) => number.replace(/^\+/, '');

/**
 * An emulated Plivo: posts the signed answer webhook, obeys the answer XML (Stream, Hangup, Dial), speaks the stream
 * protocol, serves the part of the call API that a live call needs, and posts the signed hang-up. No account, no
 * telephone network.
 */
export async function openPlivoCarrierEmulator(
  options: { authId?: string; authToken?: string } = {},
): Promise<CarrierEmulator> {
  const authId = options.authId ?? `MAEMULATED${randomBytes(5).toString('hex').toUpperCase()}`;
  const authToken = options.authToken ?? randomBytes(20).toString('hex');
  const calls = new Map<string, PlivoCall>();

  const server = createServer((req, res) => {
    serve(req, res).catch((error: unknown) => answer(res, 500, { error: String(error) }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.headers.authorization !== `Basic ${Buffer.from(`${authId}:${authToken}`).toString('base64')}`) {
      answer(res, 401, { error: 'authentication failed' });
      return;
    }
    const match = /^\/v1\/Account\/([^/]+)\/Call\/([^/]+)\/(DTMF\/)?$/.exec(
      new URL(req.url ?? '/', 'http://x').pathname,
    );
    const call = match?.[1] === authId ? calls.get(match[2]!) : undefined;
    if (!call) {
      answer(res, 404, { error: 'not found' });
      return;
    }
    const body = JSON.parse((await readBody(req)) || '{}') as Record<string, unknown>;
    if (req.method === 'DELETE' && !match![3]) {
      call.end('api');
      res.writeHead(204).end();
    } else if (req.method === 'POST' && match![3]) {
      answer(res, 200, { api_id: randomUUID(), message: 'digits sent' });
    } else if (req.method === 'POST' && typeof body['aleg_url'] === 'string') {
      answer(res, 202, { api_id: randomUUID(), message: 'call transferred', call_uuids: [call.callId] });
      call.transfer(body['aleg_url']);
    } else answer(res, 400, { error: 'unsupported by the emulator' });
  }

  return {
    apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: { auth_id: authId, auth_token: authToken },
    async placeCall(place) {
      const call = new PlivoCall(place, authToken, () => calls.delete(call.callId));
      calls.set(call.callId, call);
      try {
        await call.start();
      } catch (error) {
        calls.delete(call.callId);
        throw error;
      }
      return call;
    },
    async [Symbol.asyncDispose]() {
      for (const call of calls.values()) call.hangUp();
      server.closeAllConnections();
      server.close();
      await once(server, 'close').catch(() => {});
    },
  };
}

class PlivoCall implements EmulatedCall {
  readonly carrier = 'plivo';
  readonly callId = randomUUID();
  readonly from: string;
  readonly to: string;
  readonly ended: Promise<EmulatedCallEnd>;
  line!: CarrierLine;
  readonly #place: PlaceCallOptions;
  readonly #authToken: string;
  readonly #onOver: () => void;
  #resolveEnded!: (end: EmulatedCallEnd) => void;
  #answeredAt = Date.now();
  #source: EmulatedCallEnd['source'] | undefined;
  /** Document to go on with when the stream ends: set by a transfer. */
  #nextUrl: string | undefined;
  #afterStream = '';

  constructor(place: PlaceCallOptions, authToken: string, onOver: () => void) {
    this.#place = place;
    this.#authToken = authToken;
    this.#onOver = onOver;
    this.from = place.from;
    this.to = place.to;
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
  }

  async start(): Promise<void> {
    const xml = await this.#post(this.#place.voiceUrl, { ...this.#common('ringing'), Event: 'StartApp' });
    const stream = /<Stream\b[^>]*>([^<]+)<\/Stream>/.exec(xml);
    if (!stream) throw new Error(`The answer document starts no stream:\n${xml}`);
    this.#afterStream = xml.slice(stream.index + stream[0].length);
    const streamUrl = unescapeXml(stream[1]!.trim());
    this.#answeredAt = Date.now();
    this.line = await this.#dialStream(streamUrl);
    void this.line.closed.then(() => this.#streamEnded());
  }

  async #dialStream(streamUrl: string): Promise<CarrierLine> {
    for (let tries = 1; ; tries++) {
      const nonce = randomBytes(10).toString('hex');
      try {
        return await CarrierLine.open({
          url: streamUrl,
          carrier: 'plivo',
          ids: {
            callId: this.callId,
            streamId: randomUUID(),
            accountId: 'MAEMULATED',
            from: this.from,
            to: this.to,
            sequence: 0,
          },
          headers: {
            'X-Plivo-Signature-V3': signPlivoUpgrade(this.#authToken, streamUrl, nonce),
            'X-Plivo-Signature-V3-Nonce': nonce,
          },
          events: this.#place.events ?? {},
          keepHeard: this.#place.keepHeard ?? false,
        });
      } catch (error) {
        if (tries === STREAM_TRIES) throw error;
      }
    }
  }

  hangUp(): void {
    this.end('caller');
  }

  end(source: EmulatedCallEnd['source']): void {
    this.#source ??= source;
    this.line.hangUp();
  }

  /** The new document is fetched when the stream has ended. */
  transfer(url: string): void {
    this.#nextUrl = url;
  }

  async #streamEnded(): Promise<void> {
    let transferredTo: string | undefined;
    if (this.#source === undefined && this.#nextUrl !== undefined) {
      const xml = await this.#post(this.#nextUrl, this.#common('in-progress')).catch(() => '');
      transferredTo = /<Number>([^<]+)<\/Number>/.exec(xml)?.[1];
    }
    this.#source ??= /<Hangup\s*\/>/.test(this.#afterStream) ? 'document' : 'stream';
    const durationSeconds = Math.round((Date.now() - this.#answeredAt) / 1000);
    await this.#post(this.#place.statusUrl, {
      ...this.#common('completed'),
      Event: 'Hangup',
      HangupCause: 'NORMAL_CLEARING',
      HangupCauseCode: '4000',
      HangupCauseName: 'Normal Hangup',
      HangupSource: { caller: 'Caller', api: 'API Request', document: 'Answer XML', stream: 'Plivo' }[
        this.#source
      ],
      Duration: String(durationSeconds),
      BillDuration: String(Math.ceil(durationSeconds / 60) * 60),
      TotalCost: '0.00000',
    }).catch(() => '');
    this.#onOver();
    this.#resolveEnded({ source: this.#source, transferredTo, durationSeconds });
  }

  #common(status: string): Record<string, string> {
    return {
      CallUUID: this.callId,
      From: digits(this.from),
      To: digits(this.to),
      Direction: 'inbound',
      CallStatus: status,
      ALegUUID: this.callId,
    };
  }

  async #post(url: string, fields: Record<string, string>): Promise<string> {
    const nonce = randomBytes(10).toString('hex');
    const response = await request(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'user-agent': 'parley-emulated-plivo',
        'x-plivo-signature-v3': signPlivoRequest(this.#authToken, url, fields, nonce),
        'x-plivo-signature-v3-nonce': nonce,
      },
      body: new URLSearchParams(fields).toString(),
      headersTimeout: REQUEST_TIMEOUT_MS,
      bodyTimeout: REQUEST_TIMEOUT_MS,
    });
    const body = await response.body.text();
    if (response.statusCode !== 200)
      throw new Error(
        `${new URL(url).pathname.split('/').slice(0, 7).join('/')} answered ${response.statusCode}: ${body.slice(0, 500)}`,
      );
    return body;
  }
}

function unescapeXml(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&');
}

async function readBody(req: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of req as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY_BYTES) throw new Error('The body is too large.');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function answer(res: ServerResponse, status: number, body: object): void {
  res
    .writeHead(status, { 'content-type': 'application/json', 'x-parley-emulator': 'plivo' })
    .end(JSON.stringify(body));
}
