import { DIAL_STATES, type DialState } from '../sessions/session-record.ts';

/** Which states of a dial may follow which. */
const NEXT: Readonly<Record<DialState, readonly DialState[]>> = {
  waiting: ['claimed', 'gone'],
  claimed: ['sent', 'waiting', 'gone'],
  // By the carrier's answer, or its first callback: whichever comes first.
  sent: ['known', 'waiting', 'uncertain', 'gone'],
  uncertain: ['known', 'waiting', 'gone'],
  known: ['gone'],
  gone: [],
};

/** The states from which `to` may be reached. */
export function dialStatesBefore(to: DialState): DialState[] {
  return DIAL_STATES.filter((from) => NEXT[from].includes(to));
}
