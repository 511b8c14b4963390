import type { z } from 'zod';
import type { CarrierOptions, CarrierRequest } from './carrier.ts';

/** A complaint about an unsolicited call, as a carrier tells of it. What it does not tell is null. */
export interface CarrierComplaint {
  /** The carrier's id of it, unique within the account. */
  referenceId: string;
  /** The carrier's own word. */
  status: string | null;
  /** Who called: E.164 where the carrier gives such a number, otherwise as it writes it. */
  fromNumber: string | null;
  /** Who was called and complains; the same. */
  toNumber: string | null;
  /** As the carrier writes it. */
  initiationDate: string | null;
  category: string | null;
  callUuid: string | null;
  proofUrl: string | null;
  rejectionReason: string | null;
  /** Until when a proof of consent is taken. */
  deadlineAt: Date | null;
  /** Fields that we do not know. */
  raw: Readonly<Record<string, unknown>>;
}

/** A document that proves consent. */
export interface ProofFile {
  name: string;
  contentType: string;
  content: Uint8Array<ArrayBuffer>;
}

/** The feed of complaints of one telephony account. Nothing is ever repeated in here. */
export interface CarrierComplaints {
  /**
   * All complaints of the account, page by page. Entries that are none are null.
   * @throws CarrierError also for an answer that is not understood
   */
  pages(signal?: AbortSignal): AsyncIterable<(CarrierComplaint | null)[]>;

  /** Hands in a proof. @throws CarrierError */
  submitProof(referenceId: string, proof: ProofFile, signal?: AbortSignal): Promise<void>;

  /** @throws CarrierProtocolError when the callback tells of no complaint */
  parseCallback(request: CarrierRequest): CarrierComplaint;
}

/** That a carrier has a feed of complaints, and how it is opened. */
export interface ComplaintCapability {
  /** What the carrier's documents say of callbacks, for the API's description. */
  readonly callbackText: string;
  /** @throws ZodError when `credentials` are not what the carrier's schema asks for */
  open(credentials: unknown, options: CarrierOptions): CarrierComplaints;
}

/** A carrier's own part of it, over credentials that were checked. */
export interface ComplaintDefinition<S extends z.ZodObject> {
  callbackText: string;
  open(credentials: z.output<S>, options: CarrierOptions): CarrierComplaints;
}
