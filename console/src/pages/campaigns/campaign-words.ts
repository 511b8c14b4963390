import type { components } from '../../api/schema.d.ts';

export type Campaign = components['schemas']['Campaign'];
export type Contact = components['schemas']['CampaignContact'];

/** Why a campaign is paused, in a sentence. */
export const PAUSE_REASONS: Readonly<Record<NonNullable<Campaign['pause_reason']>, string>> = {
  user: 'Somebody paused it.',
  redial: 'Contacts wait to be called again: resume it to call them.',
  circuit_breaker: 'Too many calls failed. See why before you resume it.',
  budget: 'Its calls have cost what they may. Raise the ceiling to resume it.',
  insufficient_balance: 'The wallet is empty.',
  agent_unavailable: 'Its agent is archived or gone.',
  number_unavailable: 'It has no active number that calls can come from.',
};

type Attempted = components['schemas']['CampaignOutcomes']['items'][number]['outcomes'][number];
export type Outcome = Attempted['outcome'];

/** What an attempt came to, in words and by colour, the best first. */
export const OUTCOMES: Readonly<Record<Outcome, { label: string; color: string }>> = {
  answered: { label: 'Answered', color: 'var(--mantine-color-green-6)' },
  voicemail: { label: 'Voicemail', color: 'var(--mantine-color-blue-5)' },
  no_answer: { label: 'No answer', color: 'var(--mantine-color-yellow-5)' },
  busy: { label: 'Busy', color: 'var(--mantine-color-orange-6)' },
  rejected: { label: 'Declined', color: 'var(--mantine-color-grape-5)' },
  invalid_number: { label: 'Invalid number', color: 'var(--mantine-color-pink-7)' },
  failed: { label: 'Failed', color: 'var(--mantine-color-red-7)' },
  cancelled: { label: 'Cancelled', color: 'var(--mantine-color-gray-5)' },
};

/** The same of all stretches of time together: what occurred, in the order of `OUTCOMES`. */
export function totalsOf(stretches: readonly { outcomes: readonly Attempted[] }[]): Attempted[] {
  const all = stretches.flatMap(({ outcomes }) => outcomes);
  return (Object.keys(OUTCOMES) as Outcome[]).flatMap((outcome) => {
    const attempts = all.filter((one) => one.outcome === outcome).reduce((sum, one) => sum + one.attempts, 0);
    return attempts === 0 ? [] : [{ outcome, attempts }];
  });
}

/** Contacts that are done with, one way or the other. */
export function finishedOf({ completed, failed, skipped, cancelled }: Campaign['counters']): number {
  return completed + failed + skipped + cancelled;
}

export function isLive({ status }: Campaign): boolean {
  return status === 'running' || status === 'scheduled';
}

export type CampaignAct = 'start' | 'pause' | 'resume' | 'cancel' | 'redial' | 'delete';

const ACTS: Readonly<Record<Campaign['status'], readonly CampaignAct[]>> = {
  draft: ['start', 'delete'],
  scheduled: ['cancel'],
  running: ['pause', 'redial', 'cancel'],
  paused: ['resume', 'redial', 'cancel'],
  completed: ['redial', 'delete'],
  cancelled: ['delete'],
  failed: ['delete'],
};

/** What can be done with a campaign as it stands. */
export function actsOf({ status }: Campaign): readonly CampaignAct[] {
  return ACTS[status];
}

/** A state in which further contacts are taken. */
export function takesContacts({ status }: Campaign): boolean {
  return ['draft', 'scheduled', 'running', 'paused'].includes(status);
}
