import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { signPlivoRequest } from '@parley/emulators/carriers/plivo-webhook-signature';

/** What the parent needs to know, and what it is told of every dial. */
export interface BusyCarrierReady {
  url: string;
}
export interface DialSeen {
  from: string;
  to: string;
  /** When the request came, ms since the epoch. */
  at: number;
}

/**
 * The least of a carrier: it takes every dial, in Plivo's form, and says a moment later that the line was busy. It
 * says nothing else and remembers nothing, so that what is measured is who dials.
 */
const authToken = process.argv[2]!;
/** Where the platform is, as the parent says: its public name leads nowhere. */
let platform = '';
process.on('message', (message: { platform: string }) => (platform = message.platform));
const BUSY_AFTER_MS = 300;
const REPORT_MS = 100;

let seen: DialSeen[] = [];
const server = createServer((incoming, response) => {
  const parts: Buffer[] = [];
  incoming.on('data', (part: Buffer) => parts.push(part));
  incoming.on('end', () => {
    // Asked whether the credentials are right.
    if (incoming.method !== 'POST')
      return void response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    const wish = JSON.parse(Buffer.concat(parts).toString('utf8')) as Record<
      'from' | 'to' | 'hangup_url',
      string
    >;
    seen.push({ from: wish.from, to: wish.to, at: Date.now() });
    response
      .writeHead(201, { 'content-type': 'application/json' })
      .end(JSON.stringify({ api_id: '', message: 'call fired', request_uuid: randomUUID() }));
    setTimeout(() => void sayBusy(wish).catch(() => undefined), BUSY_AFTER_MS);
  });
});

async function sayBusy({ from, to, hangup_url: url }: Record<'from' | 'to' | 'hangup_url', string>) {
  const fields = {
    ...{ CallUUID: randomUUID(), From: from, To: to, Direction: 'outbound', Event: 'Hangup' },
    ...{ CallStatus: 'busy', HangupCause: 'USER_BUSY', HangupCauseCode: '3010' },
  };
  const nonce = randomUUID();
  const answer = await request(url.replace(/^https?:\/\/[^/]+/, platform), {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-plivo-signature-v3-nonce': nonce,
      'x-plivo-signature-v3': signPlivoRequest(authToken, url, fields, nonce),
    },
    body: new URLSearchParams(fields).toString(),
  });
  await answer.body.dump();
}

setInterval(() => {
  if (seen.length > 0) process.send?.({ dials: seen });
  seen = [];
}, REPORT_MS).unref();
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send!({ ready: { url: `http://127.0.0.1:${port}` } satisfies BusyCarrierReady });
});
process.once('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
