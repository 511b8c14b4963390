/** What a simulated caller does in one call, step by step, and what the emulated providers make of it. */
export interface Conversation {
  /** Also the tag of its speech recognition connection, by which the emulator knows its lines. */
  name: ConversationName;
  steps: readonly Step[];
}

export type Step =
  /** Waits until the agent has finished, speaks, and waits for the answer. */
  | { do: 'ask'; line: string; reply: string }
  /** As `ask`, with a pause in the middle: whoever answers in it has cut the caller off. */
  | { do: 'ask_with_pause'; first: string; pauseMs: number; then: string; reply: string }
  /** Speaks over the reply of the step before, after that much of it was heard, and waits for another answer. */
  | { do: 'interrupt'; afterMs: number; line: string; reply: string }
  /** Makes a sound over the reply of the step before, which must go on. No words at all: a noise. */
  | { do: 'murmur'; afterMs: number; line: string }
  /** Ends the call while the agent speaks, in one of the ways calls end. */
  | { do: 'hang_up'; how: HangUp; afterMs: number };

export type HangUp = 'stop_close' | 'close' | 'reset' | 'half_open';

export const CONVERSATIONS = [
  'talk',
  'barge_in',
  'backchannel',
  'noise',
  'pause_400',
  'pause_700',
  'pause_1200',
  'pause_2000',
  'hang_up',
] as const;
export type ConversationName = (typeof CONVERSATIONS)[number];

export const GREETING = 'Hello and welcome.';

export const TOPICS = [
  'apples',
  'bridges',
  'candles',
  'gardens',
  'horses',
  'islands',
  'lemons',
  'mirrors',
] as const;
const HANG_UPS: readonly HangUp[] = ['stop_close', 'close', 'reset', 'half_open'];

export const question = (topic: string) => `Please tell me about ${topic}.`;
export const answer = (topic: string) => `The ${topic} desk opens early and closes late today.`;
export const longAnswer = (topic: string) =>
  `Our story about ${topic} begins long ago in some quiet town near that river where people came together every evening.`;
const LONG_ASK = 'What is the story of';

/**
 * @param turns questions asked in a call without incidents
 * @param variant makes ends of calls differ from caller to caller
 */
export function conversation(name: ConversationName, turns: number, variant = 0): Conversation {
  const topicOf = (turn: number) => TOPICS[turn % TOPICS.length]!;
  const ask = (turn: number): Step => ({
    do: 'ask',
    line: question(topicOf(turn)),
    reply: answer(topicOf(turn)),
  });
  const askLong = (topic: string): Step => ({
    do: 'ask',
    line: `${LONG_ASK} ${topic}?`,
    reply: longAnswer(topic),
  });
  const asks = (count: number, from = 0) => Array.from({ length: count }, (_, i) => ask(from + i));
  switch (name) {
    case 'talk':
      return { name, steps: asks(turns) };
    case 'barge_in':
      return {
        name,
        steps: Array.from({ length: Math.max(1, Math.floor(turns / 2)) }, (_, i) => [
          askLong(topicOf(2 * i)),
          {
            do: 'interrupt' as const,
            afterMs: 700 + 370 * (i % 5),
            line: question(topicOf(2 * i + 1)),
            reply: answer(topicOf(2 * i + 1)),
          },
        ]).flat(),
      };
    case 'backchannel':
    case 'noise':
      return {
        name,
        steps: [
          askLong(topicOf(0)),
          { do: 'murmur', afterMs: 1200, line: name === 'noise' ? '' : 'Mhm.' },
          ...asks(Math.max(1, turns - 1), 1),
        ],
      };
    case 'hang_up':
      return {
        name,
        steps: [
          ...asks(Math.max(0, turns - 1)),
          askLong(topicOf(turns)),
          { do: 'hang_up', how: HANG_UPS[variant % HANG_UPS.length]!, afterMs: 1000 },
        ],
      };
    default: {
      const pauseMs = Number(name.slice('pause_'.length));
      // One that a transcript gives away as unfinished, and one that it does not.
      const pauses: Step[] = [
        {
          do: 'ask_with_pause',
          first: 'I would like to',
          pauseMs,
          then: 'speak about apples.',
          reply: answer('apples'),
        },
        {
          do: 'ask_with_pause',
          first: 'I have some trouble.',
          pauseMs,
          then: 'It concerns bridges.',
          reply: answer('bridges'),
        },
      ];
      return { name, steps: [ask(2), ...pauses] };
    }
  }
}

/** Everything the caller says, in order: an utterance each for the recogniser. */
export function linesOf({ steps }: Conversation): string[] {
  return steps.flatMap((step) => {
    switch (step.do) {
      case 'ask':
      case 'interrupt':
      case 'murmur':
        return [step.line];
      case 'ask_with_pause':
        return [step.first, step.then];
      case 'hang_up':
        return [];
    }
  });
}

/** Rules of the emulated model: each question has its answer, whatever came before it in the same message. */
export function modelRules(): { when: { user: { regex: string } }; reply: { text: string } }[] {
  const rules = TOPICS.flatMap((topic) => [
    { when: { user: { regex: `about ${topic}\\W*$` } }, reply: { text: answer(topic) } },
    { when: { user: { regex: `story of ${topic}\\W*$` } }, reply: { text: longAnswer(topic) } },
    { when: { user: { regex: `concerns ${topic}\\W*$` } }, reply: { text: answer(topic) } },
  ]);
  return [...rules, { when: { user: { regex: '.' } }, reply: { text: 'Sorry?' } }];
}

/** Every word an agent may be heard to say. */
export function vocabulary(): string[] {
  const texts = [GREETING, 'Sorry?', ...TOPICS.flatMap((topic) => [answer(topic), longAnswer(topic)])];
  return [...new Set(texts.flatMap((text) => text.split(' ')))];
}

/** Shares of conversations, as given on the command line: `talk:6,barge_in:2`. @throws RangeError */
export function parseMix(text: string): ConversationName[] {
  const mix = text.split(',').flatMap((part) => {
    const [name = '', weight = '1'] = part.trim().split(':');
    const count = Number(weight);
    const known = CONVERSATIONS.find((one) => one === name);
    if (!known)
      throw new RangeError(`Unknown conversation "${name}". Use one of ${CONVERSATIONS.join(', ')}.`);
    if (!Number.isInteger(count) || count < 0 || count > 100)
      throw new RangeError(`The share of ${name} must be a whole number from 0 to 100.`);
    return Array.from({ length: count }, () => known);
  });
  if (mix.length === 0) throw new RangeError('The mix must name at least one conversation.');
  // Spread evenly: the shares hold for any number of callers in a row.
  const stride = [7, 5, 3, 11, 1].find((candidate) => gcd(candidate, mix.length) === 1)!;
  return mix.map((_, index) => mix[(index * stride) % mix.length]!);
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
