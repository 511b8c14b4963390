import { parseArgs } from 'node:util';
import { z } from 'zod';
import { CARRIERS, carrierSchema } from '@parley/shared/contracts/session-values';
import { parseMix, type ConversationName } from './scenario/conversation.ts';
import { MIN_SOAK_CYCLES } from './soak.ts';

export const USAGE = `Usage: npm run loadtest -- [options]

What is measured
  --system NAME      parley (default); ceiling: a bare server that knows the answers beforehand; livekit: agents-js,
                     where npm run loadtest:peers has installed it
  --url URL          a gateway that runs already, for example ws://host/stream/{id}; {conversation} is filled in too
  --ca FILE          certificates that are trusted at --url instead of the usual ones, PEM
  --gateways N       Parley processes, calls go to them in turn (1)
  --core             the system has core 0 to itself, simulator and emulators core 1 (the default)
  --unpinned         leave processes to the kernel instead
  --busy N           N more processes keep the system's core busy (0)
  --whole            sessions are created and tickets redeemed by the real control plane over its embedded store
  --tls              callers come over wss, through a process on the system's core that ends TLS
  --record           recordings are made
  --real             as it is: --record --turns 30 (calls of three minutes) --provider-tls --tokens 66 --stt-start-ms 120
  --node-args=LIST   further arguments of node for the gateways, for example "--max-semi-space-size=64 --trace-gc"
  --config JSON      agent configuration, instead of the one that keeps figures comparable

Load
  --carrier NAME     ${CARRIERS.join(', ')} (default: plivo)
  --calls N          calls at a time (10)
  --turns N          questions in a call (4)
  --mix LIST         what callers do, by share (talk:6,barge_in:2,backchannel:1,hang_up:1); also noise, pause_400,
                     pause_700, pause_1200, pause_2000
  --seconds N        how long figures count (30), with the first call of each caller as long as what is left of it;
                     0: every caller calls once, from the begin to the end
  --ramp N           new calls a second (20)
  --rounds N         runs, of which the median counts (1)
  --soak N           N times the load (6 or more), everything hung up in between: does memory or a handle stay behind?
  --capacity         searches for the largest number of calls that is served well; --from, --step, --resolution
  --voice NAME       tones (default, exact; VOICE_MODEL=off, for tones are no voice) or flite

Emulated providers
  --stt-start-ms N   voice before the recogniser says that somebody speaks (0)
  --stt-ms N --llm-ms N --tts-ms N   delays (200, 200, 100)
  --tokens N         the model streams token by token, N a second, instead of all in one chunk; the time until the end of
                     the sentence is the model's, and not overhead
  --provider-tls     providers are reached over TLS, and offer HTTP/2 as well as HTTP/1.1
  --fault LIST       what goes wrong, for example stt:cut:0.05,llm:stall:0.02 (provider:kind:probability)

Output
  --json             one line of JSON at the end
  --html FILE        a page with plots
  --keep DIR         leaves logs there; with --profile also CPU profiles of the gateways
`;

const count = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

const schema = z.object({
  system: z.enum(['parley', 'ceiling', 'livekit']).default('parley'),
  url: z.url({ protocol: /^wss?$/ }).optional(),
  ca: z.string().optional(),
  gateways: count(1, 16).default(1),
  core: z.boolean().default(true),
  unpinned: z.boolean().default(false),
  busy: count(0, 16).default(0),
  whole: z.boolean().default(false),
  tls: z.boolean().default(false),
  record: z.boolean().default(false),
  'node-args': z
    .string()
    .default('')
    .transform((text) => text.split(' ').filter((word) => word !== '')),
  config: z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as object;
      } catch {
        context.addIssue({ code: 'custom', message: 'is not JSON' });
        return z.NEVER;
      }
    })
    .optional(),
  carrier: carrierSchema.default('plivo'),
  calls: count(1, 10_000).default(10),
  turns: count(1, 100).default(4),
  mix: z
    .string()
    .default('talk:6,barge_in:2,backchannel:1,hang_up:1')
    .transform((text, context): ConversationName[] => {
      try {
        return parseMix(text);
      } catch (error) {
        context.addIssue({ code: 'custom', message: (error as Error).message });
        return z.NEVER;
      }
    }),
  seconds: z.coerce.number().min(0).max(86_400).default(30),
  ramp: z.coerce.number().min(0.1).max(1000).default(20),
  rounds: count(1, 20).default(1),
  soak: count(MIN_SOAK_CYCLES, 10_000).optional(),
  capacity: z.boolean().default(false),
  from: count(1, 10_000).default(50),
  step: count(1, 10_000).default(50),
  resolution: count(1, 1000).default(8),
  voice: z.enum(['tones', 'flite']).default('tones'),
  real: z.boolean().default(false),
  'stt-start-ms': count(0, 10_000).default(0),
  'stt-ms': count(0, 10_000).default(200),
  'llm-ms': count(0, 10_000).default(200),
  'tts-ms': count(0, 10_000).default(100),
  'provider-tls': z.boolean().default(false),
  tokens: z.coerce.number().min(1).max(10_000).optional(),
  fault: z
    .string()
    .transform((text, context) =>
      text.split(',').map((one) => {
        const [provider, kind = '', probability = '1'] = one.split(':');
        const chance = Number(probability);
        if (!['stt', 'llm', 'tts'].includes(provider!) || kind === '' || !(chance > 0 && chance <= 1)) {
          context.addIssue({ code: 'custom', message: `"${one}" is not provider:kind:probability` });
          return z.NEVER;
        }
        return { provider: provider as 'stt' | 'llm' | 'tts', kind, probability: chance };
      }),
    )
    .optional(),
  json: z.boolean().default(false),
  html: z.string().optional(),
  keep: z.string().optional(),
  profile: z.boolean().default(false),
  help: z.boolean().default(false),
});

/** What `--real` stands for; what is asked for beside it wins. */
const REAL = { turns: '30', 'provider-tls': true, tokens: '66', 'stt-start-ms': '120', record: true };

export type Options = z.output<typeof schema>;

/** Something on the command line makes no sense. */
export class OptionsError extends Error {}

/** @throws OptionsError that names every option that is wrong */
export function parseOptions(args: readonly string[]): Options {
  const isBoolean = (name: string) =>
    [
      'core',
      'unpinned',
      'whole',
      'tls',
      'record',
      'provider-tls',
      'real',
      'capacity',
      'json',
      'profile',
      'help',
    ].includes(name);
  let values: Record<string, unknown>;
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: Object.fromEntries(
        Object.keys(schema.shape).map((name) => [
          name,
          { type: isBoolean(name) ? ('boolean' as const) : ('string' as const) },
        ]),
      ),
    }));
  } catch (error) {
    throw new OptionsError((error as Error).message);
  }
  const parsed = schema.safeParse(values['real'] === true ? { ...REAL, ...values } : values);
  if (parsed.success) {
    const { url, ca, tls, whole, soak, capacity, system } = parsed.data;
    if (url === undefined ? ca !== undefined : tls || whole)
      throw new OptionsError('--tls and --whole cannot be combined with --url or --ca: they start a system.');
    if (parsed.data['provider-tls'] && (url !== undefined || system !== 'parley'))
      throw new OptionsError('--provider-tls can be used only with a Parley that this command starts.');
    if (soak !== undefined && capacity) throw new OptionsError('--soak and --capacity cannot be combined.');
    return parsed.data;
  }
  throw new OptionsError(
    parsed.error.issues.map((issue) => `--${issue.path.join('.')}: ${issue.message}`).join('\n'),
  );
}
