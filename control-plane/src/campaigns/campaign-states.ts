export const CAMPAIGN_STATUSES = [
  'draft',
  'scheduled',
  'running',
  'paused',
  'completed',
  'cancelled',
  'failed',
] as const;
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number];

/** What moves a campaign. `schedule` is a start in the future; `redial` calls contacts again that were done with. */
export const CAMPAIGN_EVENTS = [
  'schedule',
  'start',
  'pause',
  'resume',
  'complete',
  'cancel',
  'fail',
  'redial',
] as const;
export type CampaignEvent = (typeof CAMPAIGN_EVENTS)[number];

/** Where an event leads from a state; what is not here is not allowed. Everything that moves a campaign asks here. */
const CAMPAIGN_MOVES: Readonly<Record<CampaignStatus, Partial<Record<CampaignEvent, CampaignStatus>>>> = {
  draft: { schedule: 'scheduled', start: 'running', cancel: 'cancelled' },
  scheduled: { start: 'running', cancel: 'cancelled' },
  running: {
    pause: 'paused',
    complete: 'completed',
    cancel: 'cancelled',
    fail: 'failed',
    redial: 'running',
  },
  paused: { resume: 'running', cancel: 'cancelled', redial: 'paused' },
  completed: { redial: 'paused' },
  cancelled: {},
  failed: {},
};

/** @returns null where the event is not allowed */
export function campaignAfter(from: CampaignStatus, event: CampaignEvent): CampaignStatus | null {
  return CAMPAIGN_MOVES[from][event] ?? null;
}

/** The states in which an event is allowed. */
export function campaignsBefore(event: CampaignEvent): CampaignStatus[] {
  return CAMPAIGN_STATUSES.filter((from) => campaignAfter(from, event) !== null);
}

/** Nobody is called any more, unless somebody asks for a redial. */
export const FINISHED_CAMPAIGNS: readonly CampaignStatus[] = ['completed', 'cancelled', 'failed'];

export function isFinished(status: CampaignStatus): boolean {
  return FINISHED_CAMPAIGNS.includes(status);
}

export const CONTACT_STATUSES = [
  'pending',
  'queued',
  'in_progress',
  'waiting_retry',
  'completed',
  'failed',
  'skipped',
  'cancelled',
] as const;
export type ContactStatus = (typeof CONTACT_STATUSES)[number];

/**
 * What moves a contact. `release` and `release_retry` hand a contact back whose call was not placed; `redial` calls one
 * again that was done with.
 */
export const CONTACT_EVENTS = [
  'claim',
  'answer',
  'complete',
  'retry',
  'fail',
  'skip',
  'cancel',
  'release',
  'release_retry',
  'redial',
] as const;
export type ContactEvent = (typeof CONTACT_EVENTS)[number];

const AGAIN = { redial: 'pending' } as const;

/** As `CAMPAIGN_MOVES`, for a contact. */
const CONTACT_MOVES: Readonly<Record<ContactStatus, Partial<Record<ContactEvent, ContactStatus>>>> = {
  pending: { claim: 'queued', skip: 'skipped', cancel: 'cancelled' },
  queued: {
    answer: 'in_progress',
    complete: 'completed',
    retry: 'waiting_retry',
    fail: 'failed',
    skip: 'skipped',
    cancel: 'cancelled',
    release: 'pending',
    release_retry: 'waiting_retry',
  },
  in_progress: { complete: 'completed', retry: 'waiting_retry', fail: 'failed' },
  waiting_retry: { claim: 'queued', skip: 'skipped', cancel: 'cancelled' },
  completed: AGAIN,
  failed: AGAIN,
  skipped: AGAIN,
  cancelled: AGAIN,
};

/** @returns null where the event is not allowed */
export function contactAfter(from: ContactStatus, event: ContactEvent): ContactStatus | null {
  return CONTACT_MOVES[from][event] ?? null;
}

/** The states in which an event is allowed. */
export function contactsBefore(event: ContactEvent): ContactStatus[] {
  return CONTACT_STATUSES.filter((from) => contactAfter(from, event) !== null);
}

/** Waits for its turn: it may be changed and deleted. */
export const WAITING_CONTACTS = contactsBefore('claim');
/** Is called, or is about to be. */
export const CALLED_CONTACTS: readonly ContactStatus[] = ['queued', 'in_progress'];
/** Is done with. */
export const FINISHED_CONTACTS = contactsBefore('redial');
