/** What becomes of a complaint. */
export const COMPLAINT_STATES = ['pending', 'proof_submitted', 'accepted', 'rejected', 'expired'] as const;
export type ComplaintState = (typeof COMPLAINT_STATES)[number];

/** What the carrier may say of one, the proof that it took from us, and the time. */
export type ComplaintEvent =
  | 'told_pending'
  | 'told_proof_submitted'
  | 'told_accepted'
  | 'told_rejected'
  | 'proof_taken'
  | 'deadline_passed';

/**
 * By state: what follows. The carrier decides, whatever was handed in past us; that a list of its own still says
 * `pending` takes nothing back. An accepted proof is the end.
 */
export const COMPLAINT_TRANSITIONS: Readonly<
  Record<ComplaintState, Readonly<Record<ComplaintEvent, ComplaintState>>>
> = {
  pending: {
    told_pending: 'pending',
    told_proof_submitted: 'proof_submitted',
    told_accepted: 'accepted',
    told_rejected: 'rejected',
    proof_taken: 'proof_submitted',
    deadline_passed: 'expired',
  },
  proof_submitted: {
    told_pending: 'proof_submitted',
    told_proof_submitted: 'proof_submitted',
    told_accepted: 'accepted',
    told_rejected: 'rejected',
    proof_taken: 'proof_submitted',
    deadline_passed: 'proof_submitted',
  },
  accepted: {
    told_pending: 'accepted',
    told_proof_submitted: 'accepted',
    told_accepted: 'accepted',
    told_rejected: 'accepted',
    proof_taken: 'accepted',
    deadline_passed: 'accepted',
  },
  rejected: {
    told_pending: 'rejected',
    told_proof_submitted: 'proof_submitted',
    told_accepted: 'accepted',
    told_rejected: 'rejected',
    proof_taken: 'proof_submitted',
    deadline_passed: 'rejected',
  },
  expired: {
    told_pending: 'expired',
    told_proof_submitted: 'proof_submitted',
    told_accepted: 'accepted',
    told_rejected: 'rejected',
    proof_taken: 'proof_submitted',
    deadline_passed: 'expired',
  },
};

/** In these states a proof may be handed in, until the deadline. */
export function takesProof(status: ComplaintState): boolean {
  return status === 'pending' || status === 'rejected';
}

const TOLD = new Map<string, ComplaintEvent>([
  ['pending', 'told_pending'],
  ['proof_submitted', 'told_proof_submitted'],
  ['accepted', 'told_accepted'],
  ['rejected', 'told_rejected'],
]);

/**
 * What a carrier's word means.
 * @returns undefined for words that we do not know: they change nothing
 */
export function toldEvent(word: string | null): ComplaintEvent | undefined {
  return TOLD.get(
    (word ?? '')
      .trim()
      .toLowerCase()
      .replace(/[\s-]+/g, '_'),
  );
}
