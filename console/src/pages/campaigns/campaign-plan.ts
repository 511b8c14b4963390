import type { components } from '../../api/schema.d.ts';
import { DAYS, WORKING_WEEK, problemOfWeek } from '../../components/week-windows.ts';
import type { Day, Window } from '../../components/week-windows.ts';
import { instantIn } from '../../components/zone-time.ts';

type NewCampaign = components['schemas']['CreateCampaignRequest'];
export type RetriedOutcome = NonNullable<NonNullable<NewCampaign['retry']>['retry_on']>[number];

export const RETRIED: readonly { value: RetriedOutcome; label: string }[] = [
  { value: 'no_answer', label: 'does not answer' },
  { value: 'busy', label: 'is busy' },
  { value: 'failed', label: 'cannot be reached' },
  { value: 'voicemail', label: 'has voicemail answer' },
  { value: 'rejected', label: 'declines' },
];

/** What is asked for in the steps that make a campaign. */
export interface CampaignPlan {
  name: string;
  agentId: string | null;
  numberIds: string[];
  /** Local times of `timezone`, `2026-01-31T09:30`; empty: at once, and without an end. */
  startAt: string;
  endAt: string;
  hasHours: boolean;
  timezone: string;
  useContactTimezone: boolean;
  windows: Window[];
  maxAttempts: number;
  /** Minutes before each further attempt, with commas between. */
  delays: string;
  retryOn: RetriedOutcome[];
  maxConcurrent: number;
  callsPerSecond: number;
  /** Decimal amount; empty: no ceiling. */
  maxCost: string;
}

export function emptyPlan(timezone: string): CampaignPlan {
  return {
    ...{ name: '', agentId: null, numberIds: [], startAt: '', endAt: '' },
    ...{ hasHours: true, timezone, useContactTimezone: true },
    windows: [...WORKING_WEEK],
    ...{ maxAttempts: 3, delays: '30, 120', retryOn: ['no_answer', 'busy', 'failed'] },
    ...{ maxConcurrent: 5, callsPerSecond: 1, maxCost: '' },
  };
}

/** What the API is asked to make. */
export function requestOf(plan: CampaignPlan): NewCampaign {
  const { timezone } = plan;
  return {
    name: plan.name.trim(),
    agent_id: plan.agentId ?? '',
    phone_number_ids: plan.numberIds,
    start_at: plan.startAt === '' ? null : instantIn(plan.startAt, timezone),
    end_at: plan.endAt === '' ? null : instantIn(plan.endAt, timezone),
    calling_hours: plan.hasHours
      ? { timezone, use_contact_timezone: plan.useContactTimezone, windows: plan.windows }
      : null,
    retry: {
      max_attempts: plan.maxAttempts,
      delays_minutes: delaysOf(plan),
      retry_on: plan.retryOn,
    },
    max_concurrent: plan.maxConcurrent,
    calls_per_second: plan.callsPerSecond,
    max_cost_amount: plan.maxCost.trim() === '' ? null : plan.maxCost.trim(),
  };
}

/** What is wrong with a step, by its number from 0; null where one may go on. */
export function problemOf(plan: CampaignPlan, step: number): string | null {
  if (step === 0) {
    if (plan.name.trim() === '') return 'Give the campaign a name.';
    if (plan.agentId === null) return 'Choose the agent that calls.';
  }
  if (step === 2 && plan.hasHours) {
    if (plan.windows.length === 0) return 'Add a window, or let calls be made at the hours of the agent.';
    const problem = problemOfWeek(plan.windows);
    if (problem !== null) return problem;
  }
  if (step === 2 && plan.endAt !== '' && plan.startAt !== '' && plan.endAt <= plan.startAt)
    return 'The campaign ends later than it begins.';
  if (step === 3) {
    const delays = delaysOf(plan);
    if (plan.maxAttempts > 1 && (delays.length === 0 || delays.some((minutes) => !isDelay(minutes))))
      return 'Say after how many minutes somebody is called again, such as 30, 120.';
    if (!/^(\d{1,12}(\.\d{1,6})?)?$/.test(plan.maxCost.trim()))
      return 'The ceiling is an amount such as 25 or 12.50.';
  }
  return null;
}

/** What will happen, a sentence for each thing. */
export function sentencesOf(
  plan: CampaignPlan,
  known: { agent: string; numbers: readonly string[]; people: string; currency: string },
): string[] {
  const { agent, numbers, people, currency } = known;
  const from = numbers.length === 0 ? 'any active number of the project' : listed(numbers, 'or');
  const windows = plan.windows.map(({ days, start, end }) => `${daysInWords(days)} from ${start} to ${end}`);
  const retried = RETRIED.filter(({ value }) => plan.retryOn.includes(value)).map(({ label }) => label);
  return [
    `${agent} calls, from ${from}.`,
    people,
    plan.startAt === ''
      ? 'It begins as soon as it is started.'
      : `Once started it waits until ${plan.startAt.replace('T', ', ')} (${plan.timezone}).`,
    ...(plan.endAt === ''
      ? []
      : [`It ends on ${plan.endAt.replace('T', ', ')} (${plan.timezone}), whoever is left.`]),
    plan.hasHours
      ? `Calls are made ${listed(windows, 'and')}${
          plan.useContactTimezone
            ? `, by the clock of the person called; where that is not known, of ${plan.timezone}`
            : ` (${plan.timezone})`
        }.`
      : 'Calls are made at the hours of the agent; where it has none, at any hour.',
    `At most ${plan.maxConcurrent} ${plan.maxConcurrent === 1 ? 'call is' : 'calls are'} held at a time, and at most ${plan.callsPerSecond} a second ${plan.callsPerSecond === 1 ? 'is' : 'are'} begun.`,
    plan.maxAttempts === 1 || retried.length === 0
      ? 'Everybody is called once.'
      : `Whoever ${listed(retried, 'or')} is called again, ${listed(
          delaysOf(plan).map((minutes) => inTime(minutes)),
          'then',
        )} later: ${plan.maxAttempts} attempts at most.`,
    ...(plan.maxCost.trim() === ''
      ? ['There is no ceiling for what it may cost.']
      : [`It pauses by itself once its calls cost ${`${plan.maxCost.trim()} ${currency}`.trim()}.`]),
    'It pauses by itself when half of the calls of five minutes fail, and there were 20 or more.',
    'Numbers on a do-not-call list are left out, and a number that comes twice is called once.',
  ];
}

function delaysOf({ delays }: CampaignPlan): number[] {
  return delays
    .split(/[,;\s]+/)
    .filter((text) => text !== '')
    .map(Number);
}

/** Whole minutes, of a week at most. */
function isDelay(minutes: number): boolean {
  return Number.isInteger(minutes) && minutes >= 1 && minutes <= 10_080;
}

function inTime(minutes: number): string {
  if (minutes % 1440 === 0) return minutes === 1440 ? 'a day' : `${minutes / 1440} days`;
  if (minutes % 60 === 0) return minutes === 60 ? 'an hour' : `${minutes / 60} hours`;
  return minutes === 1 ? 'a minute' : `${minutes} minutes`;
}

function daysInWords(days: readonly Day[]): string {
  const at = DAYS.flatMap(({ value }, index) => (days.includes(value) ? [index] : []));
  const isRun = at.length > 2 && at.at(-1)! - at[0]! === at.length - 1;
  const labels = at.map((index) => DAYS[index]!.label);
  return isRun ? `${labels[0]}–${labels.at(-1)}` : listed(labels, 'and');
}

/** `a, b or c` */
function listed(words: readonly string[], last: string): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
}
