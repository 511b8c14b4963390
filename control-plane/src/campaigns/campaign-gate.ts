import { isOpen, nextOpening } from '../calling-hours/calling-windows.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { CampaignStore } from './campaign-store.ts';
import type { ContactStore } from './contact-store.ts';

/** How often a call is looked at again that its campaign holds back. */
const ASK_AGAIN_MS = 5000;
/** When a call is looked at again whose hours never come. */
const NEVER_OPEN_MS = 24 * 3_600_000;

type Verdict =
  | {
      pass: true;
      places?: { bucket: string; limit: number }[];
      paces?: { scope: string; perSecond: number }[];
    }
  | { pass: false; until: number }
  | { pass: false; end: { status: 'cancelled'; failure_reason: string } };

/** What a campaign has to say before a call of it is dialled: that it still is to be, how many at a time, and how fast. */
export class CampaignGate {
  readonly name = 'campaign';
  readonly #campaigns: Pick<CampaignStore, 'find'>;
  readonly #contacts: Pick<ContactStore, 'read'>;

  constructor(deps: { campaigns: Pick<CampaignStore, 'find'>; contacts: Pick<ContactStore, 'read'> }) {
    this.#campaigns = deps.campaigns;
    this.#contacts = deps.contacts;
  }

  async check(session: SessionRecord, nowMs: number): Promise<Verdict> {
    if (session.campaign_id === null || session.contact_id === null) return { pass: true };
    const [campaign, contact] = await Promise.all([
      this.#campaigns.find(session.campaign_id),
      this.#contacts.read(session.contact_id),
    ]);
    const isWanted =
      contact?.status === 'queued' && contact.last_session_id === session._id && !contact.removed;
    if (!campaign || !isWanted) return WITHDRAWN;
    const { status, end_at, calling_hours: hours } = campaign;
    // What ends with the campaign is withdrawn by it.
    const isOver = status === 'running' && end_at !== null && end_at.getTime() <= nowMs;
    if (status === 'paused' || isOver) return { pass: false, until: nowMs + ASK_AGAIN_MS };
    if (status !== 'running') return WITHDRAWN;
    if (campaign.kind === 'single') return { pass: true };
    // They may be others than when the call was ordered.
    const zone = { contactTimezone: session.dial!.contact_timezone };
    if (hours && !isOpen(hours, nowMs, zone))
      return { pass: false, until: nextOpening(hours, nowMs, zone) ?? nowMs + NEVER_OPEN_MS };
    const bucket = `campaign:${campaign._id}`;
    return {
      pass: true,
      places: [{ bucket, limit: campaign.max_concurrent }],
      paces: [{ scope: bucket, perSecond: campaign.calls_per_second }],
    };
  }
}

const WITHDRAWN: Verdict = { pass: false, end: { status: 'cancelled', failure_reason: 'internal' } };
