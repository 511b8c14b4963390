import type { components } from '../../api/schema.d.ts';

export type Complaint = components['schemas']['UccComplaint'];

export const STATUSES: readonly { value: Complaint['status']; label: string }[] = [
  { value: 'pending', label: 'Proof is due' },
  { value: 'proof_submitted', label: 'Proof handed in' },
  { value: 'accepted', label: 'Accepted' },
  { value: 'rejected', label: 'Rejected' },
  { value: 'expired', label: 'Expired' },
];

/** What the state of a complaint asks for. */
export const WHAT_NOW: Readonly<Record<Complaint['status'], string>> = {
  pending: 'Hand in a proof that this person agreed to be called, before the deadline.',
  proof_submitted: 'The carrier has the proof and decides.',
  accepted: 'The carrier has accepted the proof. Nothing is left to do.',
  rejected: 'The carrier has refused the proof. Before the deadline another one can be handed in.',
  expired: 'No proof was handed in before the deadline. The carrier may block the number that called.',
};

/** Whether a proof can be handed in. */
export function takesProof({ status, deadline_at }: Complaint, now = Date.now()): boolean {
  return (status === 'pending' || status === 'rejected') && Date.parse(deadline_at) > now;
}

/** `2 days left`, while a proof can be handed in; null otherwise. */
export function timeLeft(complaint: Complaint, now = Date.now()): string | null {
  if (!takesProof(complaint, now)) return null;
  const hours = Math.floor((Date.parse(complaint.deadline_at) - now) / 3_600_000);
  if (hours < 1) return 'Less than an hour left';
  if (hours < 48) return `${hours} ${hours === 1 ? 'hour' : 'hours'} left`;
  return `${Math.floor(hours / 24)} days left`;
}

export const MAX_PROOF_BYTES = 5 * 1024 * 1024;

/** Why a proof would be refused; null: nothing that shows here. */
export function problemOf({ file, url }: { file: File | null; url: string }): string | null {
  if (file === null && url.trim() === '') return 'Choose a file, or write where it is.';
  if (file !== null && file.size === 0) return 'The file is empty.';
  if (file !== null && file.size > MAX_PROOF_BYTES) return 'The file is larger than 5 MiB.';
  if (file === null && !/^https?:\/\/\S+$/.test(url.trim()))
    return 'An address begins with https://, such as https://crm.example.com/consents/42.pdf.';
  return null;
}
