import { sleep } from '@parley/shared/async/timeout';
import type { RestClient } from './rest-client.ts';

/** Telephones, by the last digits of their numbers, and how many of a hundred contacts have one. */
const KINDS = [
  { kind: 'person', share: 50, endings: ['311', '100', '203', '512', '406', '200'] },
  { kind: 'voicemail', share: 20, endings: ['920', '921', '922', '923'] },
  { kind: 'screening', share: 5, endings: ['930', '931'] },
  { kind: 'menu', share: 5, endings: ['940', '941'] },
  { kind: 'busy', share: 10, endings: ['901'] },
  { kind: 'no answer', share: 5, endings: ['902'] },
  { kind: 'refuses', share: 3, endings: ['903'] },
  { kind: 'not in service', share: 2, endings: ['905'] },
] as const;
export type TelephoneKind = (typeof KINDS)[number]['kind'];

const POLL_MS = 1000;
const PAGE = 200;
const ADDED_AT_ONCE = 1000;

interface Campaign {
  id: string;
  status: string;
  pause_reason: string | null;
  counters: Record<string, number>;
}

interface Contact {
  phone_number: string;
  status: string;
  outcome: string | null;
  skip_reason: string | null;
}

export interface CampaignProgress {
  seconds: number;
  counters: Readonly<Record<string, number>>;
}

export interface CampaignResult {
  campaign_id: string;
  status: string;
  seconds: number;
  counters: Record<string, number>;
  /** By kind of telephone, how many came to what. */
  outcomes: Partial<Record<TelephoneKind, Record<string, number>>>;
}

/** The people of a campaign: as many of each kind as their shares say, in turn. */
export function telephoneNumbers(count: number): { phone_number: string; kind: TelephoneKind }[] {
  const given = KINDS.map(() => 0);
  return Array.from({ length: count }, (_, n) => {
    // Whoever is furthest behind their share is next.
    const behind = KINDS.map(({ share }, k) => (share * (n + 1)) / 100 - given[k]!);
    const k = behind.indexOf(Math.max(...behind));
    const { kind, endings } = KINDS[k]!;
    const ending = endings[given[k]!++ % endings.length]!;
    // +1 415, 200 to 999, a digit, and the ending: no number twice.
    const front = 2000 + n;
    return { phone_number: `+1415${front}${ending}`, kind };
  });
}

/** Makes a campaign by the API, as any program would, and follows it to its end. */
export async function runCampaign(options: {
  rest: RestClient;
  orgId: string;
  projectId: string;
  agentId: string;
  /** Those that it calls from. */
  numbers: Readonly<Partial<Record<string, string>>>;
  contacts: number;
  concurrent: number;
  onProgress: (progress: CampaignProgress) => void;
  signal: AbortSignal;
}): Promise<CampaignResult> {
  const { rest, signal } = options;
  const project = `/v1/orgs/${options.orgId}/projects/${options.projectId}`;
  const own = new Set(Object.values(options.numbers));
  const { items: lines } = await rest.get<{ items: { id: string; phone_number: string; status: string }[] }>(
    `${project}/phone-numbers?limit=${PAGE}&status=active`,
  );
  const people = telephoneNumbers(options.contacts);
  const { id } = await rest.post<Campaign>(`${project}/campaigns`, {
    name: `${options.contacts} emulated telephones, ${new Date().toISOString()}`,
    agent_id: options.agentId,
    phone_number_ids: lines.filter(({ phone_number }) => own.has(phone_number)).map((line) => line.id),
    max_concurrent: options.concurrent,
    calls_per_second: 5,
    retry: { max_attempts: 1 },
  });
  for (let from = 0; from < people.length; from += ADDED_AT_ONCE)
    await rest.post(`/v1/campaigns/${id}/contacts`, {
      contacts: people.slice(from, from + ADDED_AT_ONCE).map(({ phone_number }) => ({ phone_number })),
    });
  const startedAt = Date.now();
  let campaign = await rest.post<Campaign>(`/v1/campaigns/${id}/start`, {});
  try {
    while (['scheduled', 'running'].includes(campaign.status)) {
      const seconds = Math.round((Date.now() - startedAt) / 1000);
      options.onProgress({ seconds, counters: campaign.counters });
      await sleep(POLL_MS, signal);
      campaign = await rest.get<Campaign>(`/v1/campaigns/${id}`);
    }
  } catch (error) {
    await rest.post(`/v1/campaigns/${id}/cancel`, {}).catch(() => undefined);
    throw error;
  }
  const seconds = Math.round((Date.now() - startedAt) / 1000);
  options.onProgress({ seconds, counters: campaign.counters });
  const kinds = new Map(people.map(({ phone_number, kind }) => [phone_number, kind]));
  return {
    campaign_id: id,
    status:
      campaign.pause_reason === null ? campaign.status : `${campaign.status} (${campaign.pause_reason})`,
    seconds,
    counters: campaign.counters,
    outcomes: countOutcomes(await allContacts(rest, id), kinds),
  };
}

async function allContacts(rest: RestClient, campaignId: string): Promise<Contact[]> {
  const all: Contact[] = [];
  for (;;) {
    const page = await rest.get<{ items: Contact[] }>(
      `/v1/campaigns/${campaignId}/contacts?limit=${PAGE}&offset=${all.length}&sort=created_at`,
    );
    all.push(...page.items);
    if (page.items.length < PAGE) return all;
  }
}

function countOutcomes(
  contacts: readonly Contact[],
  kinds: ReadonlyMap<string, TelephoneKind>,
): CampaignResult['outcomes'] {
  const outcomes: CampaignResult['outcomes'] = {};
  for (const { phone_number, outcome, skip_reason, status } of contacts) {
    const kind = kinds.get(phone_number);
    if (kind === undefined) continue;
    const row = (outcomes[kind] ??= {});
    const what = outcome ?? skip_reason ?? status;
    row[what] = (row[what] ?? 0) + 1;
  }
  return outcomes;
}

/** Minutes and seconds. */
export function passed({ seconds }: CampaignProgress): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** One line: how far it is. */
export function progressLine({ counters }: CampaignProgress): string {
  const of = (name: string) => counters[name] ?? 0;
  const done = of('completed') + of('failed') + of('skipped') + of('cancelled');
  return [
    `${done} of ${of('total')} done`,
    `${of('in_progress')} talking`,
    `${of('queued')} ringing or queued`,
    `${of('answered')} answered`,
    `${of('voicemail')} voicemails`,
  ].join(' · ');
}

/** What became of each kind of telephone. */
export function printTable(result: CampaignResult, write: (line: string) => void): void {
  const { outcomes } = result;
  const columns = [...new Set(Object.values(outcomes).flatMap((row) => Object.keys(row)))].sort();
  const cells = [
    ['telephone', ...columns, 'all'],
    ...Object.entries(outcomes).map(([kind, row]) => [
      kind,
      ...columns.map((column) => String(row[column] ?? '')),
      String(Object.values(row).reduce((sum, count) => sum + count, 0)),
    ]),
  ];
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  write('');
  for (const row of cells)
    write(
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
        .join('   '),
    );
  write('');
  write(`${result.status} after ${result.seconds} s: ${result.campaign_id}`);
}
