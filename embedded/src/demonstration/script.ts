/**
 * The demonstration: a caller books a table. What the caller says, what the emulated model answers, and the agent
 * that both belong to. With a real model's key the same caller talks to that model.
 */

/** A number that is given to nobody: the emulated carriers answer it. */
export const MANAGER_NUMBER = '+14155550199';

export const DEMONSTRATION_AGENT = {
  name: 'Lakeside Bistro',
  system_prompt: [
    'You answer the telephone of Lakeside Bistro, a restaurant. You are friendly and brief.',
    'You book tables with the tool book_table: ask for the day, the time and the number of people if they are missing.',
    'After a booking, tell the caller the reference and mention the live music on Fridays.',
    'A caller who presses 1 after a booking gets a reminder by text message.',
    'When the caller asks for the manager, call transfer_call. Without that tool, as in a browser, you cannot put',
    'anybody through: say so.',
    'When the caller says goodbye, say goodbye and call end_call.',
    'When a voice menu has answered, press the key that it names first, with send_dtmf.',
  ].join(' '),
  greeting: 'Lakeside Bistro, good evening. How can I help you?',
  config: {
    answer_detection: {
      enabled: true,
      voicemail: {
        action: 'leave_message',
        message: 'This is Lakeside Bistro, about your table. Please call us back. Goodbye.',
      },
      screening: { action: 'answer', message: 'This is Lakeside Bistro. I am calling about your table.' },
      ivr: { action: 'navigate' },
    },
    transfer: {
      destinations: [
        {
          id: 'manager',
          description: 'The manager of the restaurant.',
          target: { type: 'phone', phone_number: MANAGER_NUMBER },
          failure_message: 'The manager cannot be reached just now. What else can I do for you?',
        },
      ],
    },
  },
} as const;

export const BOOK_TABLE_TOOL = {
  name: 'book_table',
  description: 'Books a table, or changes a booking, and returns its reference.',
  parameters: {
    type: 'object',
    properties: {
      day: { type: 'string', description: 'Day of the week' },
      time: { type: 'string', description: 'Time of day' },
      people: { type: 'integer', minimum: 1, maximum: 20 },
    },
    required: ['day', 'time'],
    additionalProperties: false,
  },
} as const;

/** What the caller says, in order. The third is said while the agent speaks; the fourth is only a backchannel. */
export const CALLER_LINES = {
  booking: 'Hello, my name is Anna Weber. I would like to book a table for two people.',
  day: 'Next Friday at seven in the evening, please.',
  bargeIn: 'Could you make it eight instead of seven?',
  backchannel: 'Uh-huh.',
  hours: 'When do you close?',
  goodbye: 'Wonderful, thank you very much. Goodbye.',
  manager: 'I would like to speak to the manager.',
} as const;

const bistro = { system: DEMONSTRATION_AGENT.name };

/** A voice menu that names a key: it is pressed, without a word. */
const menuKeys = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'].map(
  (word, digit) => ({
    when: {
      ...bistro,
      user: `press ${word}`,
      tool: 'send_dtmf',
    },
    reply: { text: '', tool_calls: [{ name: 'send_dtmf', arguments: { digits: String(digit) } }] },
  }),
);

/** The emulated model's script: the demonstration's agent by the word, every other one by its prompt and its tools. */
export const DEMONSTRATION_LLM_SCRIPT = {
  rules: [
    // The caller of an agent's tests, played without a real model, has one question.
    {
      when: { schema: 'caller_line', user: 'help you' },
      reply: { json: { say: CALLER_LINES.hours, hang_up: false } },
    },
    {
      when: { schema: 'caller_line' },
      reply: { json: { say: CALLER_LINES.goodbye, hang_up: true } },
    },
    {
      when: { schema: 'verdict' },
      reply: { json: { passed: false, reason: 'The emulated language model cannot judge.' } },
    },
    { when: { schema: '*' }, reply: { json: 'lead' } },
    { when: { ...bistro, after_tool: 'send_dtmf' }, reply: { text: '' } },
    ...menuKeys,
    // A machine that is not done yet.
    {
      when: {
        ...bistro,
        user: {
          regex:
            'voice menu has answered|stay on the line|one moment|^please\\W*$|thank you\\.$|thank you for calling|^welcome to|^for [^.]*$',
        },
      },
      reply: { text: '' },
    },
    {
      when: { ...bistro, user: { regex: '^hello\\W*$' } },
      reply: { text: 'Hello, this is Lakeside Bistro, about your table. How can I help you?' },
    },
    {
      when: { ...bistro, after_tool: 'book_table', user: ['eight', 'instead'] },
      reply: {
        text: 'No problem. Your table is now at {{tool.time}}, and the reference is still {{tool.reference}}. For a reminder, press one and pound.',
      },
    },
    {
      when: { ...bistro, after_tool: 'book_table' },
      reply: {
        text: 'Your table is booked for {{tool.day}} at {{tool.time}}, and your reference is {{tool.reference}}. On Fridays we have live music from eight until eleven, and our chef recommends the trout, which comes fresh from the lake every morning. There is also a small terrace, if the weather is warm enough to sit outside.',
      },
    },
    {
      when: { ...bistro, user: { regex: 'pressed these keys: (?<keys>[0-9*#A-D]+)' } },
      reply: { text: 'Thank you for key {{keys}}. We will remind you on Friday.' },
    },
    {
      when: { ...bistro, user: ['goodbye', 'good bye', 'bye bye'], tool: 'end_call' },
      reply: { text: 'Thank you for calling Lakeside Bistro. Goodbye.', tool_calls: [{ name: 'end_call' }] },
    },
    {
      when: { ...bistro, user: { regex: '\\binstead\\b' }, tool: 'book_table' },
      reply: {
        text: 'Let me change that.',
        tool_calls: [{ name: 'book_table', arguments: { day: 'Friday', time: 'eight', people: 2 } }],
      },
    },
    {
      when: {
        ...bistro,
        user: {
          regex:
            '\\b(?<day>monday|tuesday|wednesday|thursday|friday|saturday|sunday)\\b(?: at (?<time>\\w+))?',
        },
        tool: 'book_table',
      },
      reply: {
        text: 'One moment, I am looking.',
        tool_calls: [{ name: 'book_table', arguments: { day: '{{day}}', time: '{{time}}', people: 2 } }],
      },
    },
    {
      when: { ...bistro, user: ['manager', 'a person', 'a human'], tool: 'transfer_call' },
      reply: {
        text: 'Of course. I am putting you through to the manager.',
        tool_calls: [{ name: 'transfer_call', arguments: { destination_id: 'manager' } }],
      },
    },
    {
      // No carrier, no transfer: the tool is not offered to an agent that talks with a browser.
      when: { ...bistro, user: ['manager', 'a person', 'a human'] },
      reply: {
        text: 'I am sorry, a browser has no telephone line, so I cannot put you through.',
      },
    },
    {
      when: { ...bistro, user: ['table', 'book', 'reserve'] },
      reply: { text: 'With pleasure. For which day, and at what time would you like to come?' },
    },
    {
      when: { ...bistro, user: ['open', 'hours', 'close'] },
      reply: { text: 'We are open every day from noon until eleven in the evening.' },
    },
    { when: { ...bistro, user: 'silent for a while' }, reply: { text: 'Are you still there?' } },
    {
      when: bistro,
      reply: {
        text: 'I am only an emulated language model, but I can book a table for you. For which day would you like one?',
      },
    },
  ],
  fallback: 'improvise',
};
