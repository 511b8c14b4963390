import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { DisposableList } from '@parley/shared/async/disposable-list';
import { CARRIERS } from '@parley/shared/contracts/session-values';
import { NOISE_KINDS, parseNoise } from '@parley/emulators/noise/noise-setting';
import { findBrowser } from '@parley/emulators/callers/browser-caller';
import { runCommand, UsageError } from './command.ts';
import type { CallOrder } from './demonstration/call-order.ts';
import { wholeConversation } from './demonstration/conversation.ts';
import { runScripts } from './conversations/run-scripts.ts';
import { followCall } from './demonstration/follow-call.ts';
import { openDesk } from './demonstration/open-desk.ts';

const USAGE = `Places an emulated call to the demonstration agent and prints the conversation.

  npm run call -- [options]

What the caller does, in the order given (repeat as needed). Without any, a whole conversation is held: a booking
with a tool, an interruption, keys, and a transfer to the manager.
  --text TEXT           waits for the agent to finish, then says TEXT
  --interrupt TEXT      says TEXT while the agent is speaking (2 s after it began)
  --wav FILE=TEXT       plays a recording (WAV) that says TEXT
  --press DIGITS        presses keys: 0-9, *, #

Options:
  --carrier NAME        ${CARRIERS.join(', ')} (default: plivo), or
                        browser: Chromium on the talk page, with this caller at its microphone. A browser has no telephone line: its call cannot be transferred, and its keys
                        are the page's
  --noise KIND:LEVEL    what is heard around the caller, all the time: LEVEL in dB to the caller's voice (tv:-20), or
                        to full scale (tv:-45dBFS). Kinds: ${NOISE_KINDS.join(', ')}.
                        The emulated ears are told on a telephone line when the caller speaks, and take nobody else for
                        the caller; of the caller they understand less in loud noise
  --agent ID            an agent of the demonstration project, instead of the one that answers the number
  --outbound            the agent calls, by POST /v1/campaigns/start-call: the options above are what the person does
                        who answers, at an emulated telephone (1 s after it rings)
  --to NUMBER           with --outbound: whom the agent calls. The last three digits say what the telephone does:
                        901 is busy, 902 is never answered, 903 refuses, 904 answers and hangs up, 905 is not in
                        service, 906 is refused by the carrier, 907 rings though the carrier answers no request,
                        908 stays in the carrier's queue, 910 to 919 answer after 0 to 9 s, 92n is an answering
                        machine, 93n screens calls, 94n is a voice menu; others answer. Behind 930, 940 and 941
                        there is a person, who does the steps
  --script FILE         holds the conversation of a file, or of each file of a folder, on a platform of its own, and says
                        which of the facts that it expects hold (docs/conversations.md); repeat as needed
  --json                with --script: a line of JSON for each conversation. Otherwise at the end one line of JSON: session id, end reason, turns with texts and latencies, tools,
                        keys, transfer, paths
  --help                this text

Uses the platform that is running (npm start). If none runs, starts one of its own with temporary data, of which
only the recording is kept.
Emulated ears understand the built-in voice alone: a recording of another one needs DEEPGRAM_API_KEY.
Exit code: 0 when the call was held, 1 when it failed, a fact does not hold, or nothing of a recording was understood, 2 when the command line or a
file is wrong.
`;

/** How far into the agent's speech --interrupt begins. */
const INTERRUPT_AFTER_MS = 2000;

const NOT_UNDERSTOOD =
  'Nothing of the recording was understood. The emulated ears know one voice, the built-in one (flite), and only the sentences that they are ' +
  'told: FILE=TEXT with the exact words. Other voices need a real recogniser: start with DEEPGRAM_API_KEY.';

function parseCommandLine(argv: readonly string[]) {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...argv],
      tokens: true,
      options: {
        text: { type: 'string', multiple: true },
        interrupt: { type: 'string', multiple: true },
        wav: { type: 'string', multiple: true },
        press: { type: 'string', multiple: true },
        carrier: { type: 'string', default: 'plivo' },
        noise: { type: 'string' },
        agent: { type: 'string' },
        outbound: { type: 'boolean', default: false },
        to: { type: 'string' },
        script: { type: 'string', multiple: true, default: [] },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const { values, tokens } = parsed;
  const carrier = [...CARRIERS, 'browser' as const].find((name) => name === values.carrier);
  if (carrier === undefined)
    throw new UsageError(`--carrier ${values.carrier}: must be one of ${CARRIERS.join(', ')}, browser`);
  const { noise } = values;
  if (noise !== undefined) {
    try {
      parseNoise(noise);
    } catch (error) {
      throw new UsageError(`--noise ${noise}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const { outbound, to } = values;
  if (to !== undefined && !outbound) throw new UsageError('--to: only with --outbound');
  if (to !== undefined && !/^\+[1-9]\d{6,14}$/.test(to))
    throw new UsageError(`--to ${to}: must be an E.164 number such as +14155550123`);
  if (outbound && carrier === 'browser') throw new UsageError('--outbound: a browser cannot be called');
  const steps: CallOrder['steps'] = [];
  for (const token of tokens) {
    if (token.kind !== 'option' || token.value === undefined) continue;
    if (token.name === 'text') steps.push({ say: token.value });
    else if (token.name === 'interrupt') steps.push({ interrupt: token.value, after_ms: INTERRUPT_AFTER_MS });
    else if (token.name === 'press') {
      if (!/^[0-9A-D*#]{1,32}$/.test(token.value))
        throw new UsageError(`--press ${token.value}: must be 1 to 32 of the keys 0-9, A-D, * and #`);
      steps.push({ press: token.value });
    } else if (token.name === 'wav') steps.push(readRecording(token.value));
  }
  if (steps.length === 0) steps.push(...wholeConversation(carrier));
  const { script: scripts, json, help } = values;
  if (
    scripts.length > 0 &&
    tokens.some((token) => token.kind === 'option' && !['script', 'json'].includes(token.name))
  )
    throw new UsageError('--script: the file says all else');
  const more = { scripts, json, help };
  return { carrier, steps, noise, outbound, to, agent: values.agent, ...more };
}

function readRecording(argument: string): CallOrder['steps'][number] {
  const equals = argument.indexOf('=');
  if (equals <= 0 || equals === argument.length - 1)
    throw new UsageError(`--wav ${argument}: must be FILE=TEXT`);
  const file = argument.slice(0, equals);
  try {
    return { wav: readFileSync(file).toString('base64'), text: argument.slice(equals + 1) };
  } catch (error) {
    throw new UsageError(`--wav ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function main(owned: DisposableList, signal: AbortSignal): Promise<number> {
  const wanted = parseCommandLine(process.argv.slice(2));
  if (wanted.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (wanted.scripts.length > 0) return runScripts(owned, wanted.scripts, { json: wanted.json, signal });
  if (wanted.carrier === 'browser') findBrowser();
  const desk = await openDesk(owned, path.resolve(process.env['PARLEY_DATA_DIR'] ?? '.parley'));
  const number = wanted.carrier === 'browser' ? undefined : desk.numbers[wanted.carrier];
  if (number === undefined && wanted.carrier !== 'browser')
    throw new Error(
      `The platform has no emulated ${wanted.carrier} line. Restart it with npm start, or choose another --carrier.`,
    );
  const write = (text: string) => void (wanted.json ? process.stderr : process.stdout).write(`${text}\n`);
  const placed = await desk.place({
    carrier: wanted.carrier,
    ...(wanted.outbound
      ? { outbound: true, ...(wanted.to === undefined ? {} : { to: wanted.to }) }
      : number === undefined
        ? {}
        : { to: number }),
    steps: wanted.steps,
    ...(wanted.noise === undefined ? {} : { noise: wanted.noise }),
    ...(wanted.agent === undefined ? {} : { agent_id: wanted.agent }),
  });
  if (placed.to !== undefined) write(`The agent calls ${placed.to} (an emulated telephone).\n`);
  const result = await followCall({
    ...desk,
    carrier: wanted.carrier,
    placed,
    outcome: placed.outcome,
    write,
    signal,
  });
  const recording = result.recording_path === null ? null : await desk.recording(result.recording_path);
  if (wanted.json) process.stdout.write(`${JSON.stringify({ ...result, recording_path: recording })}\n`);
  else if (recording !== null) write(`\nrecording  ${recording}`);
  const held = result.failure_reason === null && result.status === 'ended';
  if (wanted.steps.some((step) => 'wav' in step) && !result.turns.some(({ role }) => role === 'caller')) {
    process.stderr.write(`${NOT_UNDERSTOOD}\n`);
    return 1;
  }
  return held ? 0 : 1;
}

process.exitCode = await runCommand({ usage: USAGE, stopped: 'Stopped.' }, main);
