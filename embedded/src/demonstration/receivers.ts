import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

const MAX_BODY_BYTES = 1024 * 1024;

export interface WebhookDelivery {
  /** Whether the signature fits the secret; null when the receiver was given none. */
  signed: boolean | null;
  id: string | null;
  body: Record<string, unknown>;
}

/** The other side of the demonstration: a booking system for the tool, and a CRM for the call-ended webhook. */
export interface DemonstrationReceivers {
  /** Exact origin, for `OUTBOUND_ALLOW`. */
  readonly origin: string;
  readonly toolUrl: string;
  readonly webhookUrl: string;
  /** The newest delivery of one session, as it comes. Rejects after `timeoutMs`. */
  delivery(sessionId: string, timeoutMs: number): Promise<WebhookDelivery>;
  /** From now on signatures are checked. */
  expectSecret(secret: string): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openDemonstrationReceivers(port: number): Promise<DemonstrationReceivers> {
  const deliveries = new Map<string, WebhookDelivery>();
  const waiting = new Map<string, (delivery: WebhookDelivery) => void>();
  let secret: string | undefined;

  const server = createServer((req, res) => {
    readBody(req)
      .then((raw) => {
        const body = JSON.parse(raw.toString('utf8')) as Record<string, unknown>;
        let answer: object = { ok: true };
        if (req.url === '/book-table') {
          const args = (body['arguments'] ?? {}) as Record<string, unknown>;
          answer = {
            ok: true,
            reference: 'L 42',
            day: args['day'] ?? 'Friday',
            time: args['time'] ?? 'seven',
          };
        } else if (req.url === '/call-ended') {
          const id = String(body['call_session_id']);
          const delivery: WebhookDelivery = {
            signed: secret === undefined ? null : isSigned(req.headers['x-webhook-signature'], raw, secret),
            id: (req.headers['x-webhook-id'] as string | undefined) ?? null,
            body,
          };
          deliveries.set(id, delivery);
          if (deliveries.size > 100) deliveries.delete(deliveries.keys().next().value!);
          waiting.get(id)?.(delivery);
        } else {
          res.writeHead(404).end();
          return;
        }
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      })
      .catch(() => res.writeHead(400).end());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    origin,
    toolUrl: `${origin}/book-table`,
    webhookUrl: `${origin}/call-ended`,
    delivery(sessionId, timeoutMs) {
      const known = deliveries.get(sessionId);
      if (known) return Promise.resolve(known);
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(sessionId);
          reject(new Error('The call-ended webhook did not arrive in time.'));
        }, timeoutMs);
        waiting.set(sessionId, (delivery) => {
          clearTimeout(timer);
          waiting.delete(sessionId);
          resolve(delivery);
        });
      });
    },
    expectSecret(value) {
      secret = value;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** As a receiver would check it: `t=<seconds>,v1=<hex>` over `<t>.<body>`. */
function isSigned(header: string | string[] | undefined, raw: Buffer, secret: string): boolean {
  const parts = String(header ?? '').split(',');
  const t = parts.find((part) => part.startsWith('t='))?.slice(2) ?? '';
  const expected = createHmac('sha256', secret).update(`${t}.`).update(raw).digest();
  return parts.some((part) => {
    const given = Buffer.from(part.startsWith('v1=') ? part.slice(3) : '', 'hex');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

async function readBody(req: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of req as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY_BYTES) throw new Error('The body is too large.');
    parts.push(part);
  }
  return Buffer.concat(parts);
}
