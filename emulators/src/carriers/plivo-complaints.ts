import { randomUUID } from 'node:crypto';
import type { HttpAnswer } from '../server/emulator-server.ts';
import type { CarrierApiRequest } from './carrier-api.ts';
import { plivoError } from './plivo-dials.ts';

/** The most that a list gives at once, as everywhere at Plivo. */
const PAGE = 20;

/** A complaint as it is listed. Only its id and that it has a status are published; the others are by the notices. */
export type PlivoComplaint = { reference_id: string; status: string } & Record<string, unknown>;

/** Complaints of the emulated Plivo: listed, read, and answered with a proof; carriers 6. */
export class PlivoComplaints {
  readonly #account: string;
  readonly #all = new Map<string, PlivoComplaint>();
  /** Proofs, the newest last. */
  readonly handedIn: { referenceId: string; file: File }[] = [];

  /** @param account path of the account, with slashes at both ends */
  constructor(account: string) {
    this.#account = account;
  }

  /** Somebody complains; a complaint with the same id changes. */
  set(complaint: Partial<PlivoComplaint> & { reference_id: string }): void {
    const known = this.#all.get(complaint.reference_id);
    this.#all.set(complaint.reference_id, {
      status: 'pending',
      from_number: '918035001234',
      to_number: '919876543210',
      initiation_date: '2026-11-20 14:05:00',
      complaint_category: 'unsolicited_promotional_call',
      call_uuid: randomUUID(),
      ...known,
      ...complaint,
    });
  }

  /** @returns undefined for what concerns no complaint */
  answer({ method, path, query, form }: CarrierApiRequest): HttpAnswer | undefined {
    const [, id] =
      /^Ucc\/(?:([^/]+)\/)?$/.exec(path.startsWith(this.#account) ? path.slice(this.#account.length) : '') ??
      [];
    if (id === undefined) {
      return path === `${this.#account}Ucc/` && method === 'GET' ? this.#list(query) : undefined;
    }
    const complaint = this.#all.get(id);
    if (!complaint) return failed(404, 'complaint not found');
    if (method === 'GET') return { status: 200, body: { api_id: randomUUID(), ...complaint } };
    if (method !== 'POST') return failed(405, 'method not allowed');
    return this.#handIn(complaint, form?.get('file'));
  }

  #list(query: URLSearchParams): HttpAnswer {
    const limit = Number(query.get('limit') ?? PAGE);
    const offset = Number(query.get('offset') ?? 0);
    if (!(limit >= 1 && limit <= PAGE)) return failed(400, 'limit parameter is invalid');
    if (!(offset >= 0)) return failed(400, 'offset parameter is invalid');
    const status = query.get('status');
    const found = [...this.#all.values()].filter((one) => status === null || one.status === status);
    return {
      status: 200,
      body: {
        api_id: randomUUID(),
        meta: { limit, offset, total_count: found.length, next: null, previous: null },
        objects: found.slice(offset, offset + limit),
      },
    };
  }

  #handIn(complaint: PlivoComplaint, file: unknown): HttpAnswer {
    if (!(file instanceof File)) return failed(400, 'file parameter not present');
    this.handedIn.push({ referenceId: complaint.reference_id, file });
    complaint.status = 'proof_submitted';
    return { status: 200, body: { api_id: randomUUID(), message: 'proof submitted' } };
  }
}

const failed = (status: number, error: string): HttpAnswer => ({ status, body: plivoError(error) });
