import { z } from 'zod';
import { carrierSchema } from '@parley/shared/contracts/session-values';
import { complaintCarriers, carriers } from '../carriers/carriers.ts';
import { MAX_CALLBACK_BYTES, toCarrierRequest, toResponse } from '../carriers/trusted-callback.ts';
import { listOf, toPage } from '../http/list-query.ts';
import { defineOperation, jsonBody, multipartBody, rawBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { invalid } from '../http/validation.ts';
import type { Collection } from '../storage/collection.ts';
import { inOrg, item, within, type Target } from '../tenancy/target.ts';
import type { ComplaintAccount } from './complaint-accounts.ts';
import { uccComplaintCollection, type UccComplaintRecord } from './ucc-complaint-model.ts';
import {
  MAX_PROOF_BYTES,
  proofFileRequest,
  proofLinkRequest,
  toUccComplaintResponse,
  uccComplaintQuery,
  uccComplaintResponse,
} from './ucc-complaint-schema.ts';
import type { UccComplaintService } from './ucc-complaint-service.ts';

const tag = 'UCC complaints';
const feature = 'ucc';
const viewer = { key: 'viewer', user: 'viewer' } as const;
const editor = { key: 'editor', user: 'editor' } as const;
/** Room for the boundaries and headers of a multipart body. */
const AROUND_BYTES = 16 * 1024;

/** A complaint: seen by whom its account is open to, and as far. */
function complaintTarget(accounts: Collection<ComplaintAccount>): Target<UccComplaintRecord> {
  const complaint = item(uccComplaintCollection, 'ucc_id');
  return {
    ...complaint,
    async resolve(access, request) {
      const found = await complaint.resolve(access, request);
      if (found.scope.projects === null) return found;
      const { readOnly } = await access.item(accounts, found.item.telephony_account_id);
      return { ...found, readOnly };
    },
  };
}

export function uccComplaintRoutes({
  complaints,
  accountCollection,
}: {
  complaints: UccComplaintService;
  accountCollection: Collection<ComplaintAccount>;
}): Operation[] {
  const complaint = complaintTarget(accountCollection);
  return [
    defineOperation({
      id: 'listUccComplaints',
      method: 'GET',
      path: '/v1/orgs/{org_id}/ucc-complaints',
      ...{ tag, feature },
      summary: 'List complaints about unsolicited calls',
      access: viewer,
      target: inOrg,
      query: uccComplaintQuery,
      responses: { 200: { description: 'A page of complaints', schema: listOf(uccComplaintResponse) } },
      handle: async ({ scope, query }) => toPage(await complaints.list(scope, query), toUccComplaintResponse),
    }),
    ...complaintCarriers.map((carrier) =>
      defineOperation({
        id: `sync${carriers[carrier].title}UccComplaints`,
        method: 'POST',
        path: `/v1/orgs/{org_id}/${carrier}/ucc/sync` as '/v1/orgs/{org_id}/carrier/ucc/sync',
        ...{ tag, feature },
        summary: `Pull complaints about unsolicited calls from ${carriers[carrier].title}`,
        description:
          'Asks the carrier for the complaints of every telephony account there. Numbers that complain go on the do-not-call list of the org. The answer holds the 200 that changed last.',
        access: editor,
        target: inOrg,
        responses: {
          200: { description: 'Complaints of the carrier', schema: listOf(uccComplaintResponse) },
        },
        errors: [502, 504],
        handle: async ({ scope, signal }) =>
          toPage(await complaints.sync(scope, carrier, signal), toUccComplaintResponse),
      }),
    ),
    // Behind those that have one.
    defineOperation({
      id: 'syncUccComplaintsOfOther',
      method: 'POST',
      path: '/v1/orgs/{org_id}/{carrier}/ucc/sync',
      ...{ tag, feature },
      summary: 'A carrier without a feed of complaints',
      described: false,
      access: editor,
      target: within(inOrg, 'carrier', () => true),
      params: { carrier: z.string() },
      responses: { 204: { description: 'Never' } },
      handle: () => {
        throw invalid(
          ['path', 'carrier'],
          `must be a carrier with a feed of complaints: ${complaintCarriers.join(', ')}`,
          'enum',
        );
      },
    }),
    defineOperation({
      id: 'getUccComplaint',
      method: 'GET',
      path: '/v1/ucc-complaints/{ucc_id}',
      ...{ tag, feature },
      summary: 'Get a complaint about an unsolicited call',
      access: viewer,
      target: complaint,
      responses: { 200: { description: 'The complaint', schema: uccComplaintResponse } },
      handle: ({ item: found }) => toUccComplaintResponse(found),
    }),
    defineOperation({
      id: 'proveUccConsent',
      method: 'POST',
      path: '/v1/ucc-complaints/{ucc_id}/proof',
      ...{ tag, feature },
      summary: 'Hand in a proof of consent',
      description:
        'The document, or where it is: it is handed to the carrier at once. While the complaint is pending or its proof was rejected, and before the deadline.',
      access: editor,
      target: complaint,
      body: [
        jsonBody(proofLinkRequest),
        multipartBody(proofFileRequest, { limitBytes: MAX_PROOF_BYTES + AROUND_BYTES }),
      ],
      responses: { 200: { description: 'The complaint', schema: uccComplaintResponse } },
      errors: [409, 502, 504],
      handle: async ({ scope, item: found, body, signal }) => {
        const proof =
          'file' in body
            ? {
                file: {
                  name: body.file.name,
                  contentType: body.file.type,
                  content: new Uint8Array(await body.file.arrayBuffer()),
                },
              }
            : { url: body.opt_in_proof_url };
        return toUccComplaintResponse(await complaints.prove(scope, found, proof, signal));
      },
    }),
    defineOperation({
      id: 'carrierUcc',
      method: 'POST',
      path: '/api/v1/webhooks/carriers/{carrier}/ucc/{telephony_account_id}',
      tag: 'carrier-callbacks',
      summary: 'Handle a complaint about an unsolicited call',
      description: [
        ...complaintCarriers.map((name) => carriers[name].complaints?.callbackText),
        'Callbacks of a carrier without a feed of complaints are acknowledged, and nothing is kept of them.',
      ].join(' '),
      access: 'carrier',
      rateLimited: false,
      params: { carrier: carrierSchema },
      body: rawBody({ limitBytes: MAX_CALLBACK_BYTES }),
      responses: {
        200: {
          description: 'The document of instructions for the carrier',
          contentType: 'application/xml',
          alsoAs: ['application/json'],
        },
      },
      handle: async ({ params, method, url, headers, rawBody }) =>
        toResponse(
          await complaints.takeCallback(
            carrierSchema.parse(params.carrier),
            params.telephony_account_id,
            toCarrierRequest({ method, url, headers, rawBody }),
          ),
        ),
    }),
  ];
}
