import { MACHINE_LINES } from '@parley/emulators/answers/machines';
import type { CallerStep } from '@parley/emulators/callers/caller-script';
import { CALLER_LINES, MANAGER_NUMBER } from './script.ts';

/** What people say who take a call. */
export const HELLO = 'Hello?';

/** All that is said at telephones that are called, for a recogniser that must be told. */
export const PEOPLE_LINES: readonly string[] = [
  HELLO,
  CALLER_LINES.hours,
  CALLER_LINES.booking,
  CALLER_LINES.day,
  CALLER_LINES.goodbye,
  ...MACHINE_LINES,
];

/** What somebody does who takes a call at this number: they want something; the manager takes whoever is brought to them. */
export async function habitsOf(
  to: string,
  speak: (text: string) => Promise<Uint8Array>,
): Promise<CallerStep[]> {
  const say = async (text: string, more: { atOnce?: boolean } = {}): Promise<CallerStep> => ({
    ...{ say: await speak(text), label: text, ...more },
  });
  if (to === MANAGER_NUMBER) return [await say(HELLO, { atOnce: true }), { press: '1' }];
  const wants = Number(to.at(-1)) % 3 === 0 ? [CALLER_LINES.booking, CALLER_LINES.day] : [CALLER_LINES.hours];
  return Promise.all([
    say(HELLO, { atOnce: true }),
    ...[...wants, CALLER_LINES.goodbye].map((text) => say(text)),
  ]);
}
