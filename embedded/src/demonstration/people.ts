import type { CallerStep } from '@parley/emulators/callers/caller-script';
import { beepAsCaller } from './caller-voice.ts';
import { CALLER_LINES } from './script.ts';

/** Numbers of answering machines; what telephones do before somebody answers: `telephoneByNumber`. */
const VOICEMAIL = /92\d$/;
/** An answering machine takes messages for so long. */
const MESSAGE_MS = 8000;
const BEEP_MS = 600;

/** What people say who take a call. */
export const HELLO = 'Hello?';
const VOICEMAIL_GREETING =
  'You have reached the voicemail of Anna Weber. Please leave a message after the tone.';

/** All that people say who are called, for a recogniser that must be told. */
export const PEOPLE_LINES: readonly string[] = [
  HELLO,
  VOICEMAIL_GREETING,
  CALLER_LINES.hours,
  CALLER_LINES.booking,
  CALLER_LINES.day,
  CALLER_LINES.goodbye,
];

/** What is heard at a telephone that answers at this number: at …92n a machine, at others somebody who wants something. */
export async function habitsOf(
  to: string,
  speak: (text: string) => Promise<Uint8Array>,
): Promise<CallerStep[]> {
  const say = async (text: string, more: { atOnce?: boolean } = {}): Promise<CallerStep> => ({
    ...{ say: await speak(text), label: text, ...more },
  });
  if (VOICEMAIL.test(to))
    return [
      await say(VOICEMAIL_GREETING, { atOnce: true }),
      { say: beepAsCaller(BEEP_MS), label: 'beep', atOnce: true },
      { pauseMs: MESSAGE_MS },
    ];
  const wants = Number(to.at(-1)) % 3 === 0 ? [CALLER_LINES.booking, CALLER_LINES.day] : [CALLER_LINES.hours];
  return Promise.all([
    say(HELLO, { atOnce: true }),
    ...[...wants, CALLER_LINES.goodbye].map((text) => say(text)),
  ]);
}
