import { Badge } from '@mantine/core';
import { inWords } from './format.ts';

/** What the states of all records mean for whoever looks. */
const COLORS: Record<string, string> = {
  ...of(
    'green',
    'active',
    'succeeded',
    'ready',
    'completed',
    'passed',
    'verified',
    'accepted',
    'connected',
    'done',
    'delivered',
    'answered',
    'resolved',
    'paid',
    'available',
    'valid',
  ),
  ...of(
    'blue',
    'running',
    'in_progress',
    'ringing',
    'dialing',
    'dialling',
    'processing',
    'live',
    'starting',
    'created',
    'open',
  ),
  ...of(
    'yellow',
    'pending',
    'queued',
    'paused',
    'scheduled',
    'waiting',
    'retrying',
    'no_answer',
    'busy',
    'voicemail',
    'draft',
    'waiting_retry',
    'proof_submitted',
    'provisioning',
    'releasing',
    'unverified',
    'needs_credentials',
  ),
  ...of(
    'red',
    'failed',
    'error',
    'rejected',
    'blocked',
    'suspended',
    'overdue',
    'expired',
    'uncollectible',
    'invalid',
  ),
};

function of(color: string, ...states: string[]): Record<string, string> {
  return Object.fromEntries(states.map((state) => [state, color]));
}

/** A record's state, in words and by colour. */
export function StatusBadge({ status, color }: { status: string; color?: string }) {
  return (
    <Badge
      variant="dot"
      color={color ?? COLORS[status] ?? 'gray'}
      radius="sm"
      tt="none"
      fw={600}
      miw="max-content"
    >
      {inWords(status)}
    </Badge>
  );
}
