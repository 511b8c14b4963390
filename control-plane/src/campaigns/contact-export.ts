import { BYTE_ORDER_MARK, csvLine } from '../exports/csv.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { CampaignRecord } from './campaign-model.ts';
import { contactCollection } from './contact-model.ts';

/** Contacts that are read, and held, at a time. */
const PAGE = 500;

const COLUMNS = [
  ...(['phone_number', 'name', 'external_id', 'timezone', 'status', 'outcome', 'skip_reason'] as const),
  ...(['attempts_made', 'next_attempt_at', 'last_session_id', 'goal_status', 'variables'] as const),
  ...(['created_at', 'updated_at'] as const),
];

/** A CSV file of all contacts of a campaign, the oldest first. */
export async function* contactLines(
  scope: Scope,
  campaign: CampaignRecord,
): AsyncGenerator<string, void, undefined> {
  yield BYTE_ORDER_MARK + csvLine(['id', ...COLUMNS]);
  for (let after = ''; ;) {
    const page = await scope
      .collection(contactCollection)
      .find({ campaign_id: campaign._id, _id: { $gt: after } }, { sort: { _id: 1 }, limit: PAGE });
    yield page.map((contact) => csvLine([contact._id, ...COLUMNS.map((column) => contact[column])])).join('');
    if (page.length < PAGE) return;
    after = page.at(-1)!._id;
  }
}
