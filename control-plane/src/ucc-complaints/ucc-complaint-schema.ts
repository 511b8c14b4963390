import { z } from 'zod';
import { anyOf, listQuery } from '../http/list-query.ts';
import { idSchema } from '../http/operation.ts';
import { recordFields, time, timestamp, toTimes } from '../http/record-schema.ts';
import { COMPLAINT_STATES } from './complaint-states.ts';
import type { UccComplaintRecord } from './ucc-complaint-model.ts';

/** Of a proof. */
export const MAX_PROOF_BYTES = 5 * 1024 * 1024;

const phoneNumber = z.string().min(1).max(32).meta({ example: '+919876543210' });

export const uccComplaintQuery = listQuery({
  sortable: ['deadline_at'],
  filters: {
    status: anyOf(z.enum(COMPLAINT_STATES)).optional(),
    from_number: anyOf(phoneNumber)
      .optional()
      .meta({ description: 'Only those about calls from this number (E.164); several: from one of them.' }),
    to_number: anyOf(phoneNumber)
      .optional()
      .meta({ description: 'Only those of this number (E.164); several: of one of them.' }),
    telephony_account_id: anyOf(idSchema('tel')).optional().meta({
      description: 'Only those about calls of this telephony account; several: of one of them.',
    }),
  },
});

export const proofLinkRequest = z
  .strictObject({
    opt_in_proof_url: z
      .url({ protocol: /^https?$/ })
      .max(2048)
      .meta({
        description:
          'https address of the document, at most 5 MiB. It is fetched at once and handed to the carrier.',
        example: 'https://crm.example.com/consents/42.pdf',
      }),
  })
  .meta({ id: 'UccProofLinkRequest' });

export const proofFileRequest = z
  .strictObject({
    file: z
      .file()
      .min(1)
      .max(MAX_PROOF_BYTES)
      .meta({ description: 'The document, at most 5 MiB. It is handed to the carrier and not kept.' }),
  })
  .meta({ id: 'UccProofFileRequest' });

const told = (description: string) =>
  z
    .string()
    .optional()
    .meta({ description: `${description} Absent: not known.` });

export const uccComplaintResponse = z
  .object({
    id: z.string().meta({ example: 'ucc_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    org_id: z.string(),
    telephony_account_id: z.string().meta({ description: 'Telephony account whose call it is about.' }),
    reference_id: z.string().meta({ description: "The carrier's id of the complaint." }),
    status: z.enum(COMPLAINT_STATES).meta({
      description:
        '`pending`: a proof of consent is due. `proof_submitted`: one was handed in. `accepted`, `rejected`: what the carrier made of it. `expired`: none was handed in before the deadline.',
    }),
    from_number: told('Number that called.'),
    to_number: told('Number that was called and complains.'),
    initiation_date: told('When it began, as the carrier writes it.'),
    complaint_category: told('What it is about, in the words of the carrier.'),
    call_uuid: told("The carrier's id of the call."),
    opt_in_proof_url: told('Where the proof of consent is.'),
    rejection_reason: told('Why the carrier refused the proof.'),
    deadline_at: timestamp.meta({
      description:
        'Until when a proof is taken. Where the carrier names no time: the end of the fifth business day (Monday to Friday, India) after the complaint was first heard of.',
    }),
    last_callback_status: told("The carrier's own word in its last callback."),
    last_callback_at: timestamp
      .optional()
      .meta({ description: 'When the last callback came. Absent: none has come.' }),
    ...recordFields,
  })
  .meta({ id: 'UccComplaint' });

export function toUccComplaintResponse(record: UccComplaintRecord): z.input<typeof uccComplaintResponse> {
  return {
    id: record._id,
    org_id: record.org_id,
    telephony_account_id: record.telephony_account_id,
    reference_id: record.reference_id,
    status: record.status,
    from_number: record.from_number ?? undefined,
    to_number: record.to_number ?? undefined,
    initiation_date: record.initiation_date ?? undefined,
    complaint_category: record.complaint_category ?? undefined,
    call_uuid: record.call_uuid ?? undefined,
    opt_in_proof_url: record.opt_in_proof_url ?? undefined,
    rejection_reason: record.rejection_reason ?? undefined,
    deadline_at: time(record.deadline_at),
    last_callback_status: record.last_callback_status ?? undefined,
    last_callback_at: time(record.last_callback_at) ?? undefined,
    ...toTimes(record),
  };
}
