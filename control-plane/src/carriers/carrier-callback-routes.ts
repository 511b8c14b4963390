import { carrierSchema } from '@parley/shared/contracts/session-values';
import { defineOperation, rawBody, HttpResponse, type Operation } from '../http/operation.ts';
import type { CarrierCallbackService } from './carrier-callback-service.ts';

const KINDS = {
  voice: 'Handle an incoming call, or a request for the next instruction',
  status: "Handle a change of a call's status",
  stream: "Handle a change of a media stream's status",
} as const;

const MAX_BODY_BYTES = 64 * 1024;
/** What carriers call, authenticated by their own signatures. */
export function carrierCallbackRoutes({
  carrierCallbacks,
}: {
  carrierCallbacks: CarrierCallbackService;
}): Operation[] {
  return (Object.keys(KINDS) as (keyof typeof KINDS)[]).flatMap((kind) =>
    (['POST', 'GET'] as const).map((method) =>
      defineOperation({
        id: `carrier${kind[0]!.toUpperCase()}${kind.slice(1)}${method === 'GET' ? 'ByGet' : ''}`,
        method,
        path: `/api/v1/webhooks/carriers/{carrier}/${kind}/{telephony_account_id}`,
        tag: 'carrier-callbacks',
        summary: KINDS[kind],
        access: 'carrier',
        // One address stands for every call of every tenant at that carrier.
        rateLimited: false,
        params: { carrier: carrierSchema },
        ...(method === 'POST' ? { body: rawBody({ limitBytes: MAX_BODY_BYTES }) } : {}),
        responses: {
          200: {
            description: 'The document of instructions for the carrier',
            contentType: 'application/xml',
            alsoAs: ['application/json'],
          },
        },
        handle: async ({ params, rawBody, url, headers }) => {
          const document = await carrierCallbacks.handle(
            carrierSchema.parse(params.carrier),
            params.telephony_account_id,
            {
              method,
              url,
              headers: flat(headers),
              body: rawBody,
            },
          );
          return new HttpResponse(200, document.body, {
            'Content-Type': document.contentType,
            // The document holds a ticket.
            'Cache-Control': 'no-store',
          });
        },
      }),
    ),
  );
}

function flat(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}
