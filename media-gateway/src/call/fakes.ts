import { ManualClock } from '@parley/shared/time/manual-clock';
import { silentLogger } from '@parley/shared/logging/logger';
import { defaultAgentConfig, type AgentConfig } from '@parley/shared/contracts/agent-config';
import {
  sessionPlanSchema,
  type SessionPlan,
  type SessionPlanWire,
} from '@parley/shared/contracts/session-plan';
import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import type { CallReport } from '@parley/shared/contracts/call-events';
import type { TimedWord } from '@parley/shared/contracts/turn';
import type { HandOverPart, HandOverRequest } from '@parley/shared/contracts/hand-over';
import { ProviderError } from '@parley/shared/errors/provider-error';
import { checkEvent } from '../../../shared/test/fixtures/strict-events.ts';
import type { NoiseSuppression } from '../hearing/noise/noise-suppression.ts';
import type { VoiceModel } from '../hearing/voice-model/voice-model.ts';
import type { LlmEvent, LlmProvider, LlmRequest } from '../providers/llm/llm-provider.ts';
import type { SttListener, SttOptions, SttProvider } from '../providers/stt/stt-provider.ts';
import { keepingTts, type KeptSpeech } from '../providers/tts/kept-speech.ts';
import type { TtsListener, TtsProvider } from '../providers/tts/tts-provider.ts';
import type { ConnectionEnd, Participant, ParticipantListener } from '../participants/participant.ts';
import { ConsentRecorder } from '../recording/consent-recorder.ts';
import { needsConsent } from './recording-consent.ts';
import type { CallRecorder } from '../recording/call-recorder.ts';
import { CallRedaction } from '../redaction/call-redaction.ts';
import { RedactingReporter } from '../redaction/redacting-reporter.ts';
import type { CallReporter } from '../reporting/call-reporter.ts';
import { CALL_CLOSE_CODES } from '../server/close-codes.ts';
import type { AudioSource, Call, FarEnd as CallFarEnd } from './call.ts';
import { openCall } from './open-call.ts';
import { Ticker } from '../speech/ticker.ts';
import type { DetectLanguage } from '../languages/text-language.ts';
import type { KnowledgeSource } from './call-knowledge.ts';
import type { ToolOutcome } from '@parley/shared/tools/tool-runner';

/** Small stand-ins for the far end and the providers of one call, on a clock that a test moves by hand. */

const PCMU: AudioFormat = { encoding: 'pcmu', sampleRate: 8000 };
/** One word is 400 ms of audio whatever it is. */
export const WORD_MS = 400;

type PlanToolWire = SessionPlanWire['tools'][number];

export function wirePlan(
  change: (plan: SessionPlanWire, config: AgentConfig) => void = () => {},
): SessionPlan {
  const provider = {
    emulated: true,
    base_url: 'http://127.0.0.1:1',
    credential: null,
    model: 'm',
    language: 'en-US',
  };
  const config = defaultAgentConfig();
  config.turn_taking.preemptive_generation = false;
  const plan: SessionPlanWire = {
    v: 1,
    session_id: '01890000-0000-7000-8000-000000000001',
    org_id: 'org_1',
    project_id: 'prj_1',
    channel: 'telephony',
    direction: 'inbound',
    provider: 'plivo',
    room_name: null,
    claim_id: 'claim_12345678',
    leg: 0,
    first_event_index: 0,
    history: [],
    agent: {
      agent_id: 'agt_1',
      version: 1,
      name: 'Desk',
      system_prompt: 'You are a desk.',
      greeting: 'Hello there friend.',
      config,
    },
    variables: {},
    system: {
      caller_number: '+14155550100',
      called_number: '+14155550101',
      timezone: 'UTC',
      attempt_number: 1,
      user_identifier: null,
    },
    stt: [{ ...provider, id: 'stt_1', provider: 'deepgram' }],
    llm: [{ ...provider, id: 'llm_1', provider: 'openai_compatible' }],
    tts: [{ ...provider, id: 'tts_1', provider: 'elevenlabs' }],
    tools: [],
    record: {
      enabled: false,
      recording_id: 'rec_1',
      channels: 'dual',
      format: 'wav',
      store: 'file',
      key: 'k',
    },
    limits: { max_duration_seconds: 1800, max_cost_amount: null, client_overrides: [] },
    outbound_allow: [],
  };
  change(plan, config);
  return sessionPlanSchema.parse(plan);
}

/** `find_table`, unless told otherwise. */
export function webhookTool(change: Partial<PlanToolWire> = {}): PlanToolWire {
  return {
    tool_id: 'tol_1',
    name: 'find_table',
    description: 'Finds a table.',
    parameters: { type: 'object', properties: {} },
    type: 'webhook',
    ...change,
  };
}

/** Where a caller may be transferred to: a sales department with a telephone number. */
export function salesDestination(
  change: Partial<AgentConfig['transfer']['destinations'][number]> = {},
): AgentConfig['transfer']['destinations'][number] {
  return {
    id: 'sales',
    description: 'Sales',
    target: { type: 'phone', phone_number: '+14155550123', extension: null },
    mode: 'blind',
    announce_to_caller: '',
    brief_to_target: 'none',
    brief_text: '',
    hold_audio_asset_id: null,
    ring_timeout_seconds: 20,
    caller_id: 'agent',
    on_failure: 'return',
    failure_message: 'Nobody is free.',
    ...change,
  };
}

/** How a telephone's line differs from a perfect one. */
export interface PhoneLine {
  /** What it plays; 8 kHz mu-law unless said. */
  format?: AudioFormat;
  /** How long it gathers audio before it begins to play, whenever it had run dry. */
  lagMs?: number;
  /** How late the n-th mark comes back. Marks stay in order. */
  markDelayMs?: (index: number) => number;
  /** Whether marks never come back. */
  losesMarks?: boolean;
}

/** A telephone with a real playout buffer: plays what it is sent at real time and answers marks when it gets there. */
export class FakePhone implements Participant {
  readonly carrierCommands = true;
  readonly steadyAudio = true;
  readonly ambience = true;
  readonly carrier = 'plivo';
  readonly inputFormat = PCMU;
  readonly outputFormat: AudioFormat;
  readonly marks = true;
  dtmfOut: Participant['dtmfOut'] = 'socket';
  /** All audio that was sent, whether it was played or cleared. */
  readonly sent: Uint8Array[] = [];
  readonly clears: number[] = [];
  readonly sentDigits: string[] = [];
  closed: { code: number; reason: string } | undefined;
  playedMs = 0;
  maxBufferedMs = 0;
  /** The far end's own time of the next frame, ms; undefined where it tells none. */
  mediaMs: number | undefined;
  #queue: ({ ms: number } | { mark: string })[] = [];
  #listener: ParticipantListener | undefined;
  readonly #clock: ManualClock;
  readonly #line: PhoneLine;
  readonly #bytesPerMs: number;
  #playsFrom = 0;
  #marks = 0;

  constructor(clock: ManualClock, line: PhoneLine = {}) {
    this.#clock = clock;
    this.#line = line;
    this.outputFormat = line.format ?? PCMU;
    this.#bytesPerMs = bytesPerMs(this.outputFormat);
  }

  attach(listener: ParticipantListener): void {
    this.#listener = listener;
  }
  play(bytes: Uint8Array, _atMs?: number, mark?: string): void {
    this.sent.push(bytes.slice());
    if (this.bufferedMs === 0) this.#playsFrom = this.#clock.monotonic() + (this.#line.lagMs ?? 0);
    this.#queue.push({ ms: bytes.length / this.#bytesPerMs });
    this.maxBufferedMs = Math.max(this.maxBufferedMs, this.bufferedMs);
    if (mark !== undefined) this.#queue.push({ mark });
  }
  clear(): void {
    this.clears.push(this.#clock.monotonic());
    // As Twilio does: what was pending comes back at once.
    const marks = this.#queue.flatMap((item) => ('mark' in item ? [item.mark] : []));
    this.#queue = [];
    for (const mark of marks) this.#answer(mark);
  }
  sendDtmf(digits: string): void {
    this.sentDigits.push(digits);
  }
  end(how: ConnectionEnd, reason: string): void {
    this.closed ??= { code: CALL_CLOSE_CODES[how], reason };
  }
  bufferedBytes(): number {
    return 0;
  }
  get bufferedMs(): number {
    return this.#queue.reduce((sum, item) => sum + ('ms' in item ? item.ms : 0), 0);
  }

  /** 20 ms pass at the far end: it plays, and its microphone hears something, nothing, or a frame of 8 kHz mu-law. */
  tick(heard: boolean | Uint8Array): void {
    let left = this.#clock.monotonic() < this.#playsFrom ? 0 : 20;
    while (this.#queue.length > 0) {
      const head = this.#queue[0]!;
      if ('mark' in head) {
        this.#queue.shift();
        this.#answer(head.mark);
        continue;
      }
      if (left === 0) break;
      const played = Math.min(left, head.ms);
      head.ms -= played;
      left -= played;
      this.playedMs += played;
      if (head.ms === 0) this.#queue.shift();
    }
    if (this.closed) return;
    // 0x10 and 0x90 are loud samples of either sign, 0xff is silence.
    const frame = typeof heard === 'boolean' ? new Uint8Array(160).fill(0xff) : heard;
    if (heard === true) for (let i = 0; i < frame.length; i++) frame[i] = i % 8 < 4 ? 0x10 : 0x90;
    this.#listener!.onAudio(frame, this.mediaMs);
    if (this.mediaMs !== undefined) this.mediaMs += frame.length / 8;
  }

  get listener(): ParticipantListener {
    return this.#listener!;
  }

  #answer(mark: string): void {
    if (this.#line.losesMarks) return;
    const delayMs = this.#line.markDelayMs?.(this.#marks++) ?? 0;
    if (delayMs === 0) this.#listener!.onMark(mark);
    else this.#clock.setTimeout(() => this.#listener!.onMark(mark), delayMs);
  }
}

export interface LlmScript {
  /** @returns what the model writes, and how it then fails, if it does */
  (request: LlmRequest): { events: LlmEvent[]; afterMs?: number; failure?: ProviderError } | ProviderError;
}

/** Who takes part in a call, and 20 ms of what its microphone hears. */
export interface FarEnd {
  participant: Participant;
  deps?: Omit<CallFarEnd, 'participant'>;
  tick(voiced: boolean): void;
}

/** A whole call with stand-ins around it. */
export function fakeCall(
  options: {
    plan?: SessionPlan;
    llm?: LlmScript;
    tool?: (args: unknown) => Promise<ToolOutcome>;
    /** What is found in the knowledge bases. */
    knowledge?: KnowledgeSource['searchKnowledge'];
    /** Audio assets. */
    audio?: AudioSource['load'];
    /** Tells languages of texts. */
    detect?: DetectLanguage;
    /** What is different of another agent; it listens as `other-stt` and speaks as `other`. */
    otherAgent?: (request: HandOverRequest, signal: AbortSignal) => Promise<Partial<HandOverPart>>;
    ttsFails?: () => ProviderError | undefined;
    /** Whether the voice goes on with what it was not to say any more. */
    ttsIgnoresAbort?: boolean;
    /** How long the voice takes to its first audio, ms; 50 unless given. */
    ttsMs?: number;
    /** What the voices of calls have spoken of fixed texts; without it each speaks anew. */
    kept?: KeptSpeech;
    /** Whether there is a second STT, LLM and voice, `second-stt` and so on, behind the first ones. */
    fallbacks?: boolean;
    /** The voice of last resort. */
    localVoice?: { fails?: () => ProviderError | undefined };
    words?: boolean;
    /** Loudness alone tells voices without it. */
    voiceModel?: VoiceModel;
    noise?: NoiseSuppression;
    /** What the voice sounds like: 8 kHz mu-law. Words take as long as they take then. */
    speak?: (text: string) => Uint8Array;
    /** How the telephone takes keys. */
    dtmfOut?: Participant['dtmfOut'];
    /** Instead of a telephone. */
    farEnd?: (clock: ManualClock, plan: SessionPlan) => FarEnd;
  } = {},
) {
  const clock = new ManualClock();
  const phone = new FakePhone(clock);
  if (options.dtmfOut) phone.dtmfOut = options.dtmfOut;
  const plan = options.plan ?? wirePlan();
  const farEnd: FarEnd = options.farEnd?.(clock, plan) ?? {
    participant: phone,
    tick: (voiced) => phone.tick(voiced),
  };
  const requests: LlmRequest[] = [];
  /** Which model got each request. */
  const asked: string[] = [];
  const aborted: string[] = [];
  let stt: SttListener | undefined;
  let finalized = 0;
  const events: { type: string; data: Record<string, unknown>; offsetMs: number }[] = [];
  const spoken: string[] = [];
  const open = { tts: 0, stt: 0 };
  const sttFrames: { ms: number; mayWait: boolean }[] = [];
  /** Which STT got each frame. */
  const listeners: string[] = [];
  /** What each STT was opened with. */
  const sttOptions: SttOptions[] = [];

  const sttProvider = (name: string): SttProvider => ({
    ...{ name, model: { model_id: name } },
    open(options, listener) {
      sttOptions.push(options);
      stt = listener;
      open.stt++;
      return {
        write(bytes, mayWait = false) {
          listeners.push(name);
          sttFrames.push({ ms: bytes.length / 8, mayWait });
        },
        finalize: () => void finalized++,
        async [Symbol.asyncDispose]() {
          open.stt--;
        },
      };
    },
  });
  const model = (name: string): LlmProvider => ({
    ...{ name, model: { model_id: name } },
    warm() {},
    async *stream(request, signal) {
      requests.push(request);
      asked.push(name);
      const answer: ReturnType<LlmScript> = (
        options.llm ?? (() => ({ events: [{ type: 'text', text: 'All right then.' }] }))
      )(request);
      if (answer instanceof ProviderError) throw answer;
      await new Promise<void>((resolve) => {
        const timer = clock.setTimeout(resolve, answer.afterMs ?? 100);
        signal.addEventListener('abort', () => (timer.cancel(), aborted.push('llm'), resolve()), {
          once: true,
        });
      });
      for (const event of answer.events) {
        if (signal.aborted) return;
        yield event;
      }
      if (answer.failure) throw answer.failure;
    },
  });
  const llm = model('fake-llm');
  const voice = (name: string, fails?: () => ProviderError | undefined): TtsProvider => {
    const made = speaking(name, fails);
    const kept = { key: name, model: { model_id: name } };
    return options.kept ? keepingTts(made, { kept: options.kept, ...kept }) : made;
  };
  const speaking = (name: string, fails?: () => ProviderError | undefined): TtsProvider => ({
    ...{ name, model: { model_id: name } },
    format: PCMU,
    warm() {},
    open(listener: TtsListener, signal: AbortSignal) {
      let atMs = 0;
      let pending = 0;
      let ended = false;
      let failed = false;
      open.tts++;
      const done = () => {
        if (!ended || pending > 0 || failed || signal.aborted) return;
        listener.onDone();
        open.tts--;
      };
      signal.addEventListener('abort', () => open.tts--, { once: true });
      return {
        push(text) {
          const failure = fails?.();
          if (failure) {
            failed = true;
            queueMicrotask(() => listener.onFailed(failure));
            return;
          }
          pending++;
          clock.setTimeout(() => {
            pending--;
            if ((signal.aborted && !options.ttsIgnoresAbort) || failed) return;
            spoken.push(name === 'fake-tts' ? text : `(${name}) ${text}`);
            const said = text.split(' ');
            const audio = options.speak?.(text) ?? new Uint8Array(said.length * WORD_MS * 8).fill(0x20);
            const wordMs = audio.length / 8 / said.length;
            const words = said.map((word, i) => ({
              text: word,
              startMs: atMs + i * wordMs,
              endMs: atMs + (i + 1) * wordMs,
            }));
            if (options.words !== false) listener.onWords?.(words);
            atMs += audio.length / 8;
            listener.onAudio(audio);
            done();
          }, options.ttsMs ?? 50);
        },
        end() {
          ended = true;
          done();
        },
      };
    },
    async [Symbol.asyncDispose]() {},
  });
  const tts = voice('fake-tts', options.ttsFails);
  const second = (name: string) => (options.fallbacks ? [name] : []);

  let report: CallReport | undefined;
  /** What would be left on disk at each moment. */
  const saved: (CallReport & { over: boolean })[] = [];
  let index = plan.first_event_index - 1;
  const recorded = {
    caller: [] as { atMs: number; ms: number }[],
    agent: [] as { atMs: number; ms: number }[],
  };
  /** What of the recording was made silent. */
  const muted: { side: string; fromMs: number; toMs: number }[] = [];
  const kept: CallRecorder = {
    caller: (bytes, atMs) => void recorded.caller.push({ atMs, ms: bytes.length / 8 }),
    agent: (bytes, atMs) => void recorded.agent.push({ atMs, ms: bytes.length / 8 }),
    finish: async () => ({ recording_id: 'rec_1', status: 'stored' }),
    settled() {},
    redact: { mute: (side, fromMs, toMs) => void muted.push({ side, fromMs, toMs }), judged() {} },
  };
  const recorder = needsConsent(plan) ? new ConsentRecorder('rec_1', () => kept) : kept;
  const reporter: CallReporter = {
    emit: (type, data, offsetMs) => {
      index++;
      checkEvent({ type, data });
      events.push({ type, data: data as Record<string, unknown>, offsetMs });
    },
    saveProgress: (progress, options) => void saved.push({ ...progress, over: options?.over ?? false }),
    end: async (final) => {
      checkEvent({ type: 'call_ended', data: final });
      report = final;
    },
    get lastIndex() {
      return index;
    },
  };
  const redaction = new CallRedaction(plan);
  const { variables } = plan;
  const ticker = new Ticker(clock);
  const call: Call = openCall({
    plan,
    farEnd: { participant: farEnd.participant, ...farEnd.deps },
    providers: {
      stt: ['fake-stt', ...second('second-stt')].map((name) => () => sttProvider(name)),
      llm: [() => llm, ...second('second-llm').map((name) => () => model(name))],
      tts: [() => tts, ...second('second-tts').map((name) => () => voice(name))],
      nodes: {
        llms: new Map(Object.keys(plan.flow?.llms ?? {}).map((id) => [id, () => model(id)])),
        voices: new Map(Object.keys(plan.flow?.voices ?? {}).map((id) => [id, () => voice(id)])),
      },
      // Named as the provider of the plan is.
      inLanguage: (part) => ({
        stt: [() => sttProvider(part.stt[0]!.id)],
        tts: [() => voice(part.tts[0]!.id)],
        withVoice: undefined,
      }),
      ...(options.localVoice ? { lastVoice: () => voice('local', options.localVoice!.fails) } : {}),
      voiceModel: options.voiceModel,
    },
    records: {
      reporter: new RedactingReporter({ reporter, redaction, recorder, variables }),
      ...{ recorder, redaction },
    },
    resources: {
      tools: {
        run: (_tool, call) =>
          (options.tool ?? (async () => ({ ok: true, content: '{"ok":true}', assigned: {}, durationMs: 1 })))(
            call.arguments,
          ),
      },
      knowledge: { searchKnowledge: options.knowledge ?? (async () => []) },
      audio: { load: options.audio ?? (() => Promise.reject(new Error('there is no audio'))) },
      noise: options.noise,
      languages: { warm() {}, detect: options.detect ?? (async () => undefined) },
      agents: {
        async take(request, signal) {
          if (!options.otherAgent) throw new Error('there is no other agent');
          return {
            part: { ...plan, ...(await options.otherAgent(request, signal)) },
            providers: {
              stt: [() => sttProvider('other-stt')],
              llm: [() => llm],
              tts: [() => voice('other')],
            },
            tools: { run: async () => ({ ok: true, content: 'by the other', assigned: {}, durationMs: 1 }) },
          };
        },
      },
    },
    time: { clock, ticker, answeredAt: clock.now() },
    logger: silentLogger(),
  });

  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    call,
    clock,
    phone,
    plan,
    requests,
    asked,
    aborted,
    events,
    spoken,
    recorded,
    muted,
    saved,
    open,
    /** What the STT was given, frame by frame. */
    sttFrames,
    listeners,
    sttOptions,
    ticker,
    get stt() {
      return stt!;
    },
    get finalized() {
      return finalized;
    },
    get report() {
      return report;
    },
    types: () => events.map((event) => event.type),
    turns: () =>
      events
        .filter((event) => event.type === 'turn')
        .map(
          (event) =>
            event.data as {
              role: string;
              text: string;
              start_ms: number;
              end_ms: number;
              interrupted: boolean;
              turn_index: number;
              words?: TimedWord[];
              latency?: Record<string, number | null>;
            },
        ),
    texts: () =>
      events
        .filter((event) => event.type === 'turn')
        .map((event) => `${event.data['role'] as string}: ${event.data['text'] as string}`),
    /** Time passes, 20 ms at a step. */
    async wait(ms: number, voiced = false): Promise<void> {
      for (let passed = 0; passed < ms; passed += 20) {
        farEnd.tick(voiced);
        clock.advance(20);
        await settle();
      }
    },
    /** The caller says something, and the STT understands it. */
    async hears(text: string, ms = 600): Promise<void> {
      await this.wait(ms / 2, true);
      stt!.onInterim({
        text: text.split(' ').slice(0, 2).join(' '),
        confidence: 0.9,
        endMs: undefined,
        language: undefined,
      });
      await this.wait(ms / 2, true);
      await this.wait(300);
      stt!.onTurnEnd({ text, confidence: 0.9, endMs: undefined, language: undefined });
      await settle();
    },
    settle,
  };
}
