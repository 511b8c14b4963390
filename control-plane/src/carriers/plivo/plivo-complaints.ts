import { FormData } from 'undici';
import { z } from 'zod';
import { readAnswer } from '../carrier-answer.ts';
import type { CarrierComplaint, CarrierComplaints, ProofFile } from '../carrier-complaints.ts';
import { formFields, toE164 } from '../carrier-form.ts';
import { CarrierError, CarrierProtocolError, type CarrierRequest } from '../carrier.ts';
import type { PlivoApi } from './plivo-api.ts';

/** The most that its lists give at once. */
const PAGE = 20;
/** Five complaints within ten days suspend an account: a list with so many pages is none. */
const MAX_PAGES = 100;

export const PLIVO_CALLBACK_TEXT =
  'Plivo publishes no callback for complaints: it tells of them by mail and in its console, and lists them. A form that is signed as its callbacks are, with the fields of that list, is taken.';

const pageSchema = z.object({ objects: z.array(z.unknown()) });
const text = z
  .union([z.string(), z.number().transform(String)])
  .nullish()
  .catch(null);
const complaintSchema = z.looseObject({
  reference_id: z.union([z.string(), z.number().transform(String)]).pipe(z.string().min(1).max(256)),
  status: text,
  from_number: text,
  to_number: text,
  initiation_date: text,
  complaint_category: text,
  call_uuid: text,
  opt_in_proof_url: text,
  rejection_reason: text,
  deadline_at: text,
});

/**
 * Complaints at Plivo, `/v1/Account/{auth_id}/Ucc/`. Of a complaint's fields only `reference_id` and `status` (with the
 * value `rejected`) are published: the others are read by the names of its notices where they are there, and whatever
 * else comes is kept as it is.
 * @see Plivo, "UCC complaints" of the India compliance pages; plivo-cli
 */
export class PlivoComplaints implements CarrierComplaints {
  readonly #api: PlivoApi;

  constructor(api: PlivoApi) {
    this.#api = api;
  }

  async *pages(signal?: AbortSignal): AsyncIterable<(CarrierComplaint | null)[]> {
    for (let page = 0; page < MAX_PAGES; page++) {
      const { client, account } = this.#api;
      const path = `${account}/Ucc/?limit=${PAGE}&offset=${page * PAGE}`;
      const answer = readAnswer(pageSchema, await client.call({ method: 'GET', path, signal }));
      if (!answer) throw new CarrierError('plivo', 'unavailable');
      yield answer.objects.map((entry) => {
        const { data } = complaintSchema.safeParse(entry);
        return data ? toComplaint(data) : null;
      });
      if (answer.objects.length < PAGE) return;
    }
    throw new CarrierError('plivo', 'unsupported');
  }

  async submitProof(referenceId: string, proof: ProofFile, signal?: AbortSignal): Promise<void> {
    const form = new FormData();
    form.append('file', new File([proof.content], proof.name, { type: proof.contentType }));
    const { client, account } = this.#api;
    const path = `${account}/Ucc/${encodeURIComponent(referenceId)}/`;
    await client.call({ method: 'POST', path, multipart: form, signal });
  }

  /** A body that is no form is not covered by Plivo's signature, and is not read. */
  parseCallback(request: CarrierRequest): CarrierComplaint {
    const { data } = complaintSchema.safeParse(Object.fromEntries(formFields(request)));
    if (!data) throw new CarrierProtocolError('plivo', 'no reference_id');
    return toComplaint(data);
  }
}

function toComplaint(told: z.output<typeof complaintSchema>): CarrierComplaint {
  const { reference_id, status, from_number, to_number, initiation_date, complaint_category } = told;
  const { call_uuid, opt_in_proof_url, rejection_reason, deadline_at, ...others } = told;
  const deadlineAt = toTime(deadline_at ?? '');
  return {
    referenceId: reference_id,
    status: filled(status),
    fromNumber: toNumber(from_number),
    toNumber: toNumber(to_number),
    initiationDate: filled(initiation_date),
    category: filled(complaint_category),
    callUuid: filled(call_uuid),
    proofUrl: filled(opt_in_proof_url),
    rejectionReason: filled(rejection_reason),
    deadlineAt,
    raw: unknownFields(others, deadlineAt === null ? deadline_at : null),
  };
}

const KNOWN = new Set(Object.keys(complaintSchema.shape));

/** @param deadline one that could not be read */
function unknownFields(told: Record<string, unknown>, deadline: string | null | undefined) {
  const raw = Object.fromEntries(Object.entries(told).filter(([name]) => !KNOWN.has(name)));
  return deadline ? { ...raw, deadline_at: deadline } : raw;
}

const filled = (value: string | null | undefined) => (value?.trim() ? value.trim() : null);

function toNumber(value: string | null | undefined): string | null {
  const number = filled(value);
  return toE164(number) ?? number;
}

const TIME = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?) ?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** A time as Plivo writes it; India's, where no zone is named. A day alone ends at midnight there. */
export function toTime(written: string): Date | null {
  const [, day, time, zone = '+05:30'] = TIME.exec(written.trim()) ?? [];
  if (day === undefined) return null;
  const offset = zone.replace(/^([+-]\d{2}):?(\d{2})$/, '$1:$2');
  const at = time === undefined ? new Date(`${day}T24:00:00+05:30`) : new Date(`${day}T${time}${offset}`);
  return Number.isNaN(at.getTime()) ? null : at;
}
