import { recordingMediaPath, type MediaLinks } from '../recordings/media-links.ts';
import type { RecordingService } from '../recordings/recording-service.ts';
import type { SessionAgent } from '../sessions/session-agent.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { Directory } from '../tenancy/directory.ts';
import { CALL_ENDED, type WebhookDeliveryService } from '../webhooks/webhook-delivery-service.ts';
import type { AnalysisResults } from './analysis-results.ts';
import { toCallEndedPayload } from './call-ended-payload.ts';
import type { LeadAnalysis } from './lead-analysis.ts';

const DAY_MS = 24 * 60 * 60_000;
const DEFAULT_LINK_DAYS = 7;

/** Tells the agent's webhook that a call has ended, where it wants to hear of such calls. */
export class CallEndedWebhook {
  readonly #store: SessionStore;
  readonly #results: AnalysisResults;
  readonly #recordings: RecordingService;
  readonly #mediaLinks: MediaLinks;
  readonly #deliveries: WebhookDeliveryService;
  readonly #directory: Directory;

  constructor(deps: {
    store: SessionStore;
    results: AnalysisResults;
    recordings: RecordingService;
    mediaLinks: MediaLinks;
    deliveries: WebhookDeliveryService;
    directory: Directory;
  }) {
    this.#store = deps.store;
    this.#results = deps.results;
    this.#recordings = deps.recordings;
    this.#mediaLinks = deps.mediaLinks;
    this.#deliveries = deps.deliveries;
    this.#directory = deps.directory;
  }

  async deliver(
    session: SessionRecord,
    agent: SessionAgent | null,
    lead: LeadAnalysis | null,
  ): Promise<void> {
    const settings = agent?.config.webhooks.call_ended;
    if (!agent || !settings?.enabled || settings.url === null) return;
    if (session.channel === 'web' ? !settings.web_calls : !settings.phone_calls) return;
    if (session.started_at === null && !settings.include_unanswered) return;
    const current = (await this.#store.find(session._id)) ?? session;
    await this.#deliveries.create({
      org_id: session.org_id,
      project_id: session.project_id,
      session_id: session._id,
      agent_id: agent.agent_id,
      event: CALL_ENDED,
      url: settings.url,
      payload: toCallEndedPayload({
        session: current,
        lead,
        rows: await this.#results.ofSession(session._id),
        recordingUrl: await this.#recordingUrl(current),
      }),
    });
  }

  /** The link exists at once; it answers 503 until the file is there. */
  async #recordingUrl(session: SessionRecord): Promise<string | null> {
    if (!session.record) return null;
    const recording = await this.#recordings.ofSession(session._id);
    if (!recording || recording.status === 'failed') return null;
    const org = await this.#directory.org(session.org_id);
    const days = org?.media_link_days ?? DEFAULT_LINK_DAYS;
    return this.#mediaLinks.sign(recordingMediaPath(recording._id), days * DAY_MS).url;
  }
}
