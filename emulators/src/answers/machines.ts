import type { AnswererKind, AnswerPart } from './answer-script.ts';
import { parseAnswer } from './answer-script.ts';

/** What a machine that takes calls does next. */
export type MachinePart =
  | AnswerPart
  /** Takes what the caller says, until they are silent for `quietMs`; `unheard` follows where nobody says a word within `limitMs`. */
  | { listen: { quietMs: number; limitMs: number }; unheard: readonly MachinePart[] }
  /** What follows each key; `otherwise` follows others, and when none is pressed within `withinMs`. */
  | {
      keys: Readonly<Record<string, readonly MachinePart[]>>;
      withinMs: number;
      otherwise: readonly MachinePart[];
    }
  /** Somebody takes the call. */
  | { person: true }
  | { hangUp: true };

/** A machine at the far end. Behind its last part it hangs up. */
export interface MachineScript {
  kind: Exclude<AnswererKind, 'human'>;
  parts: readonly MachinePart[];
}

/** Recorders stop when nobody speaks. */
const RECORDED: readonly MachinePart[] = [{ listen: { quietMs: 3000, limitMs: 8000 }, unheard: [] }];
const recorder = (greeting: string): MachineScript => ({
  kind: 'voicemail',
  parts: [...parseAnswer(greeting), ...RECORDED],
});

const screening = (question: string, then: string, person: boolean): MachineScript => ({
  kind: 'screening',
  parts: [
    ...parseAnswer(question),
    {
      listen: { quietMs: 1500, limitMs: 12_000 },
      unheard: parseAnswer('I did not hear you. Goodbye.'),
    },
    ...parseAnswer(then),
    ...(person ? [{ person: true } as const] : []),
  ],
});

const PUT_THROUGH: readonly MachinePart[] = [
  ...parseAnswer('[400] One moment, please. [1200]'),
  { person: true },
];

/** A menu that says its choices three times. */
function menu(
  text: string,
  keys: Readonly<Record<string, readonly MachinePart[]>>,
  times = 3,
): readonly MachinePart[] {
  const otherwise = times > 1 ? menu(text, keys, times - 1) : parseAnswer('[300] Goodbye. [500]');
  return [...parseAnswer(text), { keys, withinMs: 8000, otherwise }];
}

/** By the tens of a number's last three digits; the last digit chooses among them, over and over. */
const MACHINES: Readonly<Record<string, readonly MachineScript[]>> = {
  92: [
    recorder(
      '[500] You have reached the voicemail of Anna Weber. [300] Please leave a message after the tone. [500] {1000/600}',
    ),
    recorder(
      '[400] Your call has been forwarded to an automated voice messaging system. [300] At the tone, please record your message. [500] {440/500}',
    ),
    recorder(
      '[700] Sorry, I cannot take your call right now. [300] Leave your name and number, and I will get back to you. [700] {850/400}',
    ),
    // The mailbox takes nothing: there is no tone.
    {
      kind: 'voicemail',
      parts: parseAnswer(
        '[600] The mailbox is full and cannot accept any messages at this time. [300] Goodbye. [1500]',
      ),
    },
  ],
  93: [
    screening(
      '[600] This call is being screened. [300] Please say your name, and why you are calling.',
      '[400] Thank you. [300] Please stay on the line. [2500]',
      true,
    ),
    screening(
      '[600] The person you are calling is using a screening service. [300] Go ahead and say your name, and why you are calling.',
      '[400] Sorry, this person is not available right now. [300] Goodbye. [500]',
      false,
    ),
  ],
  94: [
    {
      kind: 'ivr',
      parts: menu(
        '[500] Thank you for calling City Bank. [400] For the front desk, press one. [400] For opening hours, press two.',
        {
          1: PUT_THROUGH,
          2: parseAnswer('[300] We are open from nine to five. [300] Goodbye. [500]'),
        },
      ),
    },
    {
      kind: 'ivr',
      parts: menu('[500] Welcome to Green Gardens. [300] For English, press one.', {
        1: menu('[500] For new customers, press two. [400] For all other questions, press three.', {
          2: PUT_THROUGH,
          3: PUT_THROUGH,
        }),
      }),
    },
  ],
};

/** @param to E.164 @returns the machine that answers at `…92n` (voicemail), `…93n` (screening), `…94n` (menu) */
export function machineByNumber(to: string): MachineScript | undefined {
  const [, tens, last] = /(9[234])(\d)$/.exec(to) ?? [];
  const machines = MACHINES[tens ?? ''];
  return machines?.[Number(last) % machines.length];
}

/** All that machines say, for a recogniser that must be told. */
export const MACHINE_LINES: readonly string[] = [
  ...new Set(Object.values(MACHINES).flatMap((scripts) => scripts.flatMap(({ parts }) => linesOf(parts)))),
];

function linesOf(parts: readonly MachinePart[]): string[] {
  return parts.flatMap((part) => {
    if ('say' in part) return [part.say];
    if ('listen' in part) return linesOf(part.unheard);
    if ('keys' in part) return [...Object.values(part.keys), part.otherwise].flatMap(linesOf);
    return [];
  });
}
