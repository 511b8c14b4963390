import { TONE_CHARACTER_MS } from '@parley/emulators/speech/tone-words';
import { answer, GREETING, longAnswer, question, TOPICS } from '../scenario/conversation.ts';

/** Tag of the speech recognition of these calls. */
export const ROOM_TAG = 'room';

/** What somebody in a noisy room does next. The agent has finished before it, unless it was interrupted. */
export type RoomStep =
  /** Asks, and hears the whole answer. */
  | { do: 'ask'; line: string; answer: string }
  /** Asks, and says something over the answer when so much of it was heard. */
  | { do: 'interrupt'; line: string; answer: string; afterMs: number; words: string }
  /** Asks with a pause in the middle: whoever answers in it has cut the caller off. */
  | { do: 'ask_with_pause'; first: string; pauseMs: number; then: string; answer: string };

/** Interrupting words, of which the emulated ears know none. */
const INTERRUPTIONS = [
  'No, wait, that is not what I meant.',
  'Hold on, may I ask something else?',
  'Sorry, just one moment, please.',
  'Stop, I know that part already.',
  'Excuse me, this is about my order.',
] as const;
const PAUSE_MS = 500;
const EARLIEST_INTERRUPTION_MS = 1200;
const LATEST_INTERRUPTION_MS = 3200;

/** Of one call. */
export const INTERRUPTIONS_A_CALL = 4;

/** One call: the same questions in the same order each time. @param random draws when the caller interrupts, with what */
export function roomTalk(random: () => number): RoomStep[] {
  const topic = (index: number) => TOPICS[index]!;
  const ask = (index: number): RoomStep => ({
    do: 'ask',
    line: question(topic(index)),
    answer: answer(topic(index)),
  });
  const interrupt = (index: number): RoomStep => ({
    do: 'interrupt',
    line: `What is the story of ${topic(index)}?`,
    answer: longAnswer(topic(index)),
    afterMs: EARLIEST_INTERRUPTION_MS + random() * (LATEST_INTERRUPTION_MS - EARLIEST_INTERRUPTION_MS),
    words: INTERRUPTIONS[Math.floor(random() * INTERRUPTIONS.length)]!,
  });
  const pause: RoomStep = {
    do: 'ask_with_pause',
    first: 'I would like to',
    pauseMs: PAUSE_MS,
    then: `speak about ${topic(4)}.`,
    answer: answer(topic(4)),
  };
  return [ask(0), interrupt(1), interrupt(2), ask(3), pause, interrupt(5), interrupt(6)];
}

/** What the emulated ears are taught: the questions, in their order. */
export function taughtLines(): string[] {
  return roomTalk(() => 0).flatMap((step) =>
    step.do === 'ask_with_pause' ? [step.first, step.then] : [step.line],
  );
}

/** Everything that is said. */
export function allLines(): string[] {
  return [...taughtLines(), ...INTERRUPTIONS];
}

/** How long the emulated voice needs for a text in quiet, ms. */
export function spokenMs(text: string): number {
  return text.length * TONE_CHARACTER_MS;
}

export const GREETING_MS = spokenMs(GREETING);
