import { parseArgs } from 'node:util';
import { z } from 'zod';
import { carrierSchema } from '@parley/shared/contracts/session-values';
import {
  NOISE_HALVES,
  NOISE_KINDS,
  parseNoise,
  type NoiseSetting,
} from '@parley/emulators/noise/noise-setting';
import { INTERRUPTIONS_A_CALL } from './room-talk.ts';

/** Calls of a row, so that a kind at five levels has a hundred interruptions. */
const CALLS = 5;
const LEVELS = '-30,-20,-15,-10,-5';
/** What can be called from noisy rooms; the peers read marks of the voice in what they are sent, as Parley does. */
const SYSTEMS = ['parley', 'livekit'] as const;
export type RoomSystem = (typeof SYSTEMS)[number];

export const USAGE = `Usage: npm run loadtest:noise -- [options]

Whole calls from noisy rooms, in real time, through one gateway: whether the agent goes on when nobody interrupts it,
stops when somebody does, and answers when the caller is done. The calls of all levels of a kind are held side by side.
A table by kind and level of noise, with quiet first.

  --system LIST    parley, livekit (agents-js with its own voice activity; npm run loadtest:peers installs it), or both:
                   each kind is then called in turn (parley)
  --kinds LIST     ${NOISE_KINDS.join(',')} (all of them)
  --levels=LIST    active level of the noise in dB to the caller's (${LEVELS})
  --half HALF      of the corpus: development, on which parameters may be tuned, or held-out (development)
  --calls N        calls for each kind and level, with ${INTERRUPTIONS_A_CALL} interruptions in each (${CALLS})
  --at-once N      calls at a time, of whatever level (25)
  --carrier NAME   plivo, twilio or telnyx (twilio); not telnyx with livekit
  --quick          tv and babble 20 dB below the caller, 4 calls each
  --markdown FILE  writes the table there, too, and again after each kind
  --json           one line of JSON at the end, with every value
  --help           this text

Ends with 1 when the callers were late in some run: those figures do not count. Bad figures alone end with 0.
`;

const count = z.coerce.number().int().min(1).max(1000);

function listOf<Value extends string>(values: readonly [Value, ...Value[]]) {
  return z
    .string()
    .transform((text) => text.split(',').map((one) => one.trim()))
    .pipe(z.array(z.enum(values)).min(1));
}

export interface NoiseOptions {
  systems: RoomSystem[];
  /** By kind: the levels that are called at the same time. */
  kinds: NoiseSetting[][];
  half: (typeof NOISE_HALVES)[number];
  calls: number;
  atOnce: number;
  carrier: z.output<typeof carrierSchema>;
  markdown: string | undefined;
  json: boolean;
  help: boolean;
}

/** @throws Error that says what is wrong */
export function parseNoiseOptions(args: readonly string[]): NoiseOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      system: { type: 'string', default: 'parley' },
      kinds: { type: 'string' },
      levels: { type: 'string' },
      half: { type: 'string', default: 'development' },
      calls: { type: 'string' },
      'at-once': { type: 'string', default: '25' },
      carrier: { type: 'string', default: 'twilio' },
      quick: { type: 'boolean', default: false },
      markdown: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { quick } = values;
  const kinds = listOf(NOISE_KINDS).parse(values.kinds ?? (quick ? 'tv,babble' : NOISE_KINDS.join(',')));
  const levels = (values.levels ?? (quick ? '-20' : LEVELS)).split(',');
  const systems = listOf(SYSTEMS).parse(values.system);
  const carrier = carrierSchema.parse(values.carrier);
  if (carrier === 'telnyx' && systems.includes('livekit'))
    throw new RangeError('--system livekit can be called by plivo and twilio only.');
  return {
    systems,
    kinds: kinds.map((kind) => levels.map((level) => parseNoise(`${kind}:${level.trim()}`))),
    half: z.enum(NOISE_HALVES).parse(values.half),
    calls: count.parse(values.calls ?? (quick ? 4 : CALLS)),
    atOnce: count.parse(values['at-once']),
    carrier,
    markdown: values.markdown,
    json: values.json,
    help: values.help,
  };
}
