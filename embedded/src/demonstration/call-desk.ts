import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import { encodeMulaw } from '@parley/shared/audio/g711';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import type { LocalSpeech } from '@parley/shared/speech/flite';
import type { CallerStep } from '@parley/emulators/callers/caller-script';
import { openDirectCall } from '@parley/emulators/callers/direct-call';
import type { CarrierEmulator, EmulatedCall, TransferOutcome } from '@parley/emulators/callers/emulated-call';
import { telephoneByNumber } from '@parley/emulators/callers/telephone';
import type { DeepgramEmulator } from '@parley/emulators/providers/deepgram-emulator';
import { BrowserCaller, MICROPHONE_RATE, type BrowserStep } from '@parley/emulators/callers/browser-caller';
import { callerLevelDb, openLineNoise, type LineNoise } from '@parley/emulators/noise/line-noise';
import { Surroundings } from '@parley/emulators/noise/surroundings';
import { parseNoise } from '@parley/emulators/noise/noise-setting';
import { callOrderSchema, type CallOrder, type CallOutcome, type PlacedCall } from './call-order.ts';
import {
  beepAsCaller,
  recordingAsCaller,
  recordingAt,
  resample,
  speakAsCaller,
  speakAt,
  TELEPHONE_RATE,
} from './caller-voice.ts';
import { DialledPeople } from './dialled-people.ts';
import { holdCall } from './hold-call.ts';
import { habitsOf, HELLO, PEOPLE_LINES } from './people.ts';
import type { RestClient } from './rest-client.ts';
import { reachLocally } from '../reach-locally.ts';
import { TALK_PATH, type MintedSession } from '../web/talk-page.ts';

type CarrierDesk = {
  emulator: CarrierEmulator;
  telephonyAccountId: string;
  phoneNumberId: string;
  number: string;
};

export interface CallDeskDeps {
  /** What carriers sign. */
  publicUrl: string;
  localUrl: string;
  rest: RestClient;
  /** Calls people, unless an order names another one. */
  agentId: string;
  speech: LocalSpeech;
  /** Taught what callers are going to say; undefined when a real STT listens. */
  stt: Pick<DeepgramEmulator, 'teach'> | undefined;
  carriers: Readonly<Partial<Record<CarrierName, CarrierDesk>>>;
  /** Who may place calls from another process. */
  token: string;
}

/** Whose call a carrier places, and what is heard around them. */
interface Caller {
  from: string;
  to: string;
  background: Surroundings | undefined;
}

interface RunningCall {
  outcome: Promise<CallOutcome>;
  stop(): void | Promise<void>;
}

/** How long a person talks to whom a transfer went, ms. */
const TALK_MS = 1500;
/** How long a telephone rings that nobody answers, ms. */
const RING_MS = 3000;
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** Places emulated calls, for the demonstration and, over a loopback port, for `npm run call`. */
export class CallDesk {
  readonly #deps: CallDeskDeps;
  readonly #people: DialledPeople;
  readonly #outcomes = new Map<string, Promise<CallOutcome>>();
  readonly #running = new Set<RunningCall>();
  readonly #server = createServer((req, res) => {
    this.#serve(req, res).catch((error: unknown) =>
      answer(res, error instanceof z.ZodError ? 422 : 500, {
        error: error instanceof Error ? error.message : String(error),
      }),
    );
  });

  private constructor(deps: CallDeskDeps) {
    this.#deps = deps;
    const speak = (text: string) => speakAsCaller(deps.speech, text);
    this.#people = new DialledPeople({
      carriers: Object.values(deps.carriers).map(({ emulator }) => emulator),
      async habits(to) {
        await deps.stt?.teach([...PEOPLE_LINES]);
        return habitsOf(to, speak);
      },
      speak,
    });
  }

  static async open(deps: CallDeskDeps): Promise<CallDesk> {
    const desk = new CallDesk(deps);
    desk.#server.listen(0, '127.0.0.1');
    await once(desk.#server, 'listening');
    return desk;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Places a call; resolves when the carrier has asked for the answer document and opened the stream. */
  async place(order: CallOrder): Promise<PlacedCall & { outcome: Promise<CallOutcome> }> {
    const said = order.steps.flatMap((step) =>
      'say' in step ? [step.say] : 'interrupt' in step ? [step.interrupt] : 'text' in step ? [step.text] : [],
    );
    await this.#deps.stt?.teach(said);
    const { call, ...placed } =
      order.carrier === 'browser' ? await this.#openBrowser(order) : await this.#dial(order.carrier, order);
    this.#running.add(call);
    const outcome = call.outcome.finally(() => this.#running.delete(call));
    outcome.catch(() => {});
    this.#outcomes.set(placed.call_id, outcome);
    if (this.#outcomes.size > 1000) this.#outcomes.delete(this.#outcomes.keys().next().value!);
    return { ...placed, outcome };
  }

  async #dial(carrier: CarrierName, order: CallOrder): Promise<PlacedCall & { call: RunningCall }> {
    const desk = this.#deps.carriers[carrier];
    if (!desk) throw new Error(`No emulated ${carrier} line is configured.`);
    const steps = await Promise.all(order.steps.map((step) => this.#toCallerStep(step)));
    if (order.outbound) return this.#callOut(desk, order, steps);
    const said = steps.flatMap((step) =>
      'say' in step ? [step.say] : 'interrupt' in step ? [step.interrupt] : [],
    );
    const around = await noiseAround(order, said);
    const caller = {
      from: order.from ?? `+1415555${String(randomInt(10_000)).padStart(4, '0')}`,
      to: order.to ?? desk.number,
      background: around && new Surroundings(around),
    };
    const { from } = caller;
    const { call, ...known } = await (order.agent_id === undefined
      ? this.#dialNumber(carrier, desk, caller)
      : this.#dialAgent(carrier, order.agent_id, caller));
    const outcome = holdCall(call, [...steps, { listen: true }]);
    return { call: { outcome, stop: () => call.hangUp() }, call_id: call.callId, from, ...known };
  }

  /** The agent calls somebody who does these steps: by the API, as any program asks for it. */
  async #callOut(
    desk: CarrierDesk,
    order: CallOrder,
    steps: readonly CallerStep[],
  ): Promise<PlacedCall & { call: RunningCall }> {
    const to = order.to ?? `+1415555${randomInt(2000, 8900)}`;
    await this.#deps.stt?.teach([...PEOPLE_LINES]);
    const hello: CallerStep[] = order.no_hello
      ? []
      : [{ say: await speakAsCaller(this.#deps.speech, HELLO), label: HELLO, atOnce: true }];
    const { outcome, forget } = this.#people.expect(to, [...hello, ...steps]);
    try {
      const { session_id } = await this.#deps.rest.post<{ session_id: string }>('/v1/campaigns/start-call', {
        agent_id: order.agent_id ?? this.#deps.agentId,
        to_number: to,
        phone_number_id: desk.phoneNumberId,
        ...(order.variables && { variables: order.variables }),
      });
      return {
        call: { outcome, stop: () => this.#people.hangUp() },
        ...{ call_id: session_id, from: desk.number, to, session_id },
      };
    } catch (error) {
      forget();
      throw error;
    }
  }

  /** Resolves when the page talks with the agent. */
  async #openBrowser(order: CallOrder): Promise<PlacedCall & { call: RunningCall }> {
    const steps = await Promise.all(order.steps.map((step) => this.#toBrowserStep(step)));
    const { agent_id } = order;
    const said = steps.flatMap((step) =>
      'say' in step ? [step.say] : 'interrupt' in step ? [step.interrupt] : [],
    );
    const noise = await noiseAround(
      order,
      said.map((samples) => encodeMulaw(resample(samples, MICROPHONE_RATE, TELEPHONE_RATE))),
    );
    const startedAt = Date.now();
    const browser = await BrowserCaller.open({
      url: `${this.#deps.localUrl}${TALK_PATH}`,
      mint:
        agent_id === undefined
          ? undefined
          : () => this.#deps.rest.post<MintedSession>('/v1/realtime/sessions', { agent_id }),
      noise: noise && resample(noise.samples, TELEPHONE_RATE, MICROPHONE_RATE),
    });
    const { sessionId } = browser;
    const outcome = browser
      .run(steps)
      .then((endedBy) => ({
        call_id: sessionId,
        from: null,
        ended_by: endedBy,
        transferred_to: null,
        duration_seconds: Math.round((Date.now() - startedAt) / 1000),
      }))
      .finally(() => browser[Symbol.asyncDispose]());
    const stop = () => browser[Symbol.asyncDispose]();
    return { call: { outcome, stop }, call_id: sessionId, from: null, session_id: sessionId };
  }

  /** The carrier's way: its webhook asks what to do with the call. */
  async #dialNumber(
    carrier: CarrierName,
    desk: CarrierDesk,
    caller: Caller,
  ): Promise<{ call: EmulatedCall; session_id?: string }> {
    const callback = (kind: 'voice' | 'status') =>
      `${this.#deps.publicUrl}${carrierCallbackPath(carrier, kind, desk.telephonyAccountId)}`;
    const call = await desk.emulator.placeCall({
      voiceUrl: callback('voice'),
      statusUrl: callback('status'),
      ...caller,
      onTransfer: transferByNumber,
    });
    return { call };
  }

  /** The way of a client with a carrier of its own: the session is made first, and its ticket put into the stream. */
  async #dialAgent(
    carrier: CarrierName,
    agentId: string,
    caller: Caller,
  ): Promise<{ call: EmulatedCall; session_id?: string }> {
    const session = await this.#deps.rest.post<{
      session_id: string;
      media_ws_url: string;
      ws_ticket: string;
    }>('/v1/sessions', { agent_id: agentId, channel: 'telephony', provider: carrier });
    const reach = reachLocally(this.#deps.publicUrl, this.#deps.localUrl);
    const url = reach(`${session.media_ws_url}/${session.ws_ticket}`);
    const call = await openDirectCall({ url, carrier, ...caller });
    return { call, session_id: session.session_id };
  }

  /** All its callers hang up: they are emulated, nobody is cut off. */
  async hangUp(): Promise<void> {
    for (const call of [...this.#running]) await call.stop();
    this.#people.hangUp();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hangUp();
    this.#server.closeAllConnections();
    this.#server.close();
    if (this.#server.listening) await once(this.#server, 'close');
  }

  async #toCallerStep(step: CallOrder['steps'][number]): Promise<CallerStep> {
    const { speech } = this.#deps;
    if ('say' in step)
      return { say: await speakAsCaller(speech, step.say), label: step.say, atOnce: step.at_once ?? false };
    if ('beep_ms' in step) return { say: beepAsCaller(step.beep_ms), label: 'beep', atOnce: true };
    if ('hang_up' in step) return { hangUp: true };
    if ('interrupt' in step)
      return {
        interrupt: await speakAsCaller(speech, step.interrupt),
        afterMs: step.after_ms,
        label: step.interrupt,
      };
    if ('wav' in step) return { say: recordingAsCaller(Buffer.from(step.wav, 'base64')), label: step.text };
    if ('press' in step) return { press: step.press, atOnce: step.at_once ?? false };
    return { pauseMs: step.pause_ms };
  }

  async #toBrowserStep(step: CallOrder['steps'][number]): Promise<BrowserStep> {
    const speak = (text: string) => speakAt(MICROPHONE_RATE, this.#deps.speech, text);
    if ('say' in step) return { say: await speak(step.say) };
    if ('interrupt' in step) return { interrupt: await speak(step.interrupt), afterMs: step.after_ms };
    if ('wav' in step) return { say: recordingAt(MICROPHONE_RATE, Buffer.from(step.wav, 'base64')) };
    if ('press' in step) return { press: step.press };
    if ('pause_ms' in step) return { pauseMs: step.pause_ms };
    throw new Error('A browser neither beeps nor hangs up by a step.');
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const expected = createHash('sha256').update(`Bearer ${this.#deps.token}`).digest();
    const given = createHash('sha256')
      .update(req.headers.authorization ?? '')
      .digest();
    if (!timingSafeEqual(expected, given)) {
      answer(res, 401, {
        error: 'Invalid token: emulated calls can be placed only by the user who runs the platform.',
      });
      return;
    }
    if (req.method === 'POST' && req.url === '/calls') {
      const { outcome: _later, ...placed } = await this.place(
        callOrderSchema.parse(JSON.parse(await readBody(req))),
      );
      answer(res, 201, placed);
      return;
    }
    const outcome = this.#outcomes.get(/^\/calls\/([\w:-]+)$/.exec(req.url ?? '')?.[1] ?? '');
    if (req.method === 'GET' && outcome) answer(res, 200, await outcome);
    else answer(res, 404, { error: 'not found' });
  }
}

/** What comes of a transfer: as telephones do that are called, by their last digits. */
function transferByNumber(to: string): TransferOutcome {
  const { does, afterMs } = telephoneByNumber(to);
  if (does === 'answer') return { status: 'answered', afterMs: TALK_MS };
  if (does === 'ring') return { status: 'no-answer', afterMs: RING_MS };
  return { status: does === 'busy' ? 'busy' : 'failed', afterMs };
}

function answer(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function readBody(req: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of req as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY_BYTES) throw new Error('The request body is too large.');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** @param said everything the caller is going to say, 8 kHz mu-law */
async function noiseAround(
  { noise }: CallOrder,
  said: readonly Uint8Array[],
): Promise<LineNoise | undefined> {
  return noise === undefined
    ? undefined
    : openLineNoise(parseNoise(noise), 'development', callerLevelDb(said));
}
