/** Reasons for which a call fails that nobody at the other end has a part in. */
export const OWN_FAULTS = [
  'insufficient_balance',
  'carrier_error',
  'media_timeout',
  'stt_error',
  'llm_error',
  'tts_error',
  'flow_loop',
  'missing_variable',
  'internal',
] as const;

export interface Glance {
  isWell: boolean;
  title: string;
  text: string;
}

/**
 * Whether a project is well, in a sentence.
 * @param faults calls of the last 24 hours that failed for one of `OWN_FAULTS`
 * @param today calls that ended today
 * @param usual calls that ended on each of the seven days before, on average
 */
export function glanceOf({ faults, today, usual }: { faults: number; today: number; usual: number }): Glance {
  const calls = (count: number) => `${count} ${count === 1 ? 'call' : 'calls'}`;
  const mean = Math.round(usual);
  const compared = `${calls(today)} ended today; the last seven days had ${mean === 0 ? 'hardly any' : `${mean} a day`}.`;
  if (faults > 0)
    return {
      isWell: false,
      title: 'Not all is well',
      text: `${calls(faults)} of the last 24 hours failed for technical reasons. ${compared}`,
    };
  return {
    isWell: true,
    title: 'All is well',
    text: `No call of the last 24 hours failed for technical reasons. ${compared}`,
  };
}
