import { carrierSchema } from '@parley/shared/contracts/session-values';
import { defineOperation, rawBody, type Operation } from '../http/operation.ts';
import type { CarrierCallbackService } from './carrier-callback-service.ts';
import { MAX_CALLBACK_BYTES, toCarrierRequest, toResponse } from './trusted-callback.ts';

const KINDS = {
  voice: 'Handle an incoming call, or a request for the next instruction',
  status: "Handle a change of a call's status",
  amd: 'Handle a verdict of machine detection',
  stream: "Handle a change of a media stream's status",
  recording: "Handle a recording of the carrier's own",
} as const;

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
        ...(method === 'POST' ? { body: rawBody({ limitBytes: MAX_CALLBACK_BYTES }) } : {}),
        responses: {
          200: {
            description: 'The document of instructions for the carrier',
            contentType: 'application/xml',
            alsoAs: ['application/json'],
          },
        },
        handle: async ({ params, url, headers, rawBody }) =>
          toResponse(
            await carrierCallbacks.handle(
              carrierSchema.parse(params.carrier),
              params.telephony_account_id,
              toCarrierRequest({ method, url, headers, rawBody }),
            ),
          ),
      }),
    ),
  );
}
