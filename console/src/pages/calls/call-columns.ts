/** Columns of the list of calls, in their order. */
export const CALL_COLUMNS = [
  'time',
  'caller',
  'number',
  'agent',
  'version',
  'direction',
  'status',
  'end',
  'duration',
  'reply',
  'turns',
  'outcome',
  'goal',
  'campaign',
  'language',
  'carrier',
  'id',
] as const;
export type CallColumn = (typeof CALL_COLUMNS)[number];

export const COLUMN_LABELS: Readonly<Record<CallColumn, string>> = {
  time: 'Time',
  caller: 'Caller',
  number: 'Our number',
  agent: 'Agent',
  version: 'Version',
  direction: 'Direction',
  status: 'Status',
  end: 'Ended',
  duration: 'Duration',
  reply: 'Reply time',
  turns: 'Turns',
  outcome: 'Outcome',
  goal: 'Goal',
  campaign: 'Campaign',
  language: 'Language',
  carrier: 'Carrier',
  id: 'Call ID',
};

const SHOWN_AT_FIRST: readonly CallColumn[] = [
  ...(['time', 'caller', 'agent', 'direction', 'status', 'end', 'duration', 'reply'] as const),
];

/** The columns that are shown: those chosen, or else the usual ones; the time always, since it opens the call. */
export function readColumns(chosen: unknown): CallColumn[] {
  if (!Array.isArray(chosen)) return [...SHOWN_AT_FIRST];
  return CALL_COLUMNS.filter((column) => column === 'time' || chosen.includes(column));
}
