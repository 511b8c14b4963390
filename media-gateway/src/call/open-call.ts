import { bytesPerMs } from '@parley/shared/audio/audio-frame';
import { COMMAND_ARGS, type GatewayCommand } from '@parley/shared/contracts/commands';
import { ProviderError } from '@parley/shared/errors/provider-error';
import type { Timer } from '@parley/shared/time/clock';
import type { CallEventData, CallReport } from '@parley/shared/contracts/call-events';
import type { RecordingResult } from '@parley/shared/contracts/recordings';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { LlmProvider } from '../providers/llm/llm-provider.ts';
import type { SttStream, SttTranscript } from '../providers/stt/stt-provider.ts';
import type { ParticipantListener } from '../participants/participant.ts';
import { closeCodes } from '../server/close-codes.ts';
import { CallLog } from './call-log.ts';
import { CallTools, type TransferDestination } from './call-tools.ts';
import { CarrierRequests } from './carrier-requests.ts';
import type { Call, CallDeps } from './call.ts';
import type { ReportedType } from './call-reporter.ts';
import { Conversation, type Place } from './conversation.ts';
import { DtmfCollector } from '../turns/dtmf-collector.ts';
import type { ReplyKind } from './call-observer.ts';
import { Playout, type HeardSpeech } from '../speech/playout.ts';
import { PromptTexts } from './prompt.ts';
import { PushToTalk, type PushedUtterance } from '../turns/push-to-talk.ts';
import { Reply, type ReplyOutcome } from '../speech/reply.ts';
import { SilenceWatch } from '../turns/silence-watch.ts';
import { CallVoices } from '../speech/speaker.ts';
import { TICK_MS } from './ticker.ts';
import { Transfer } from './transfer.ts';
import {
  TurnDetector,
  type AgentActivity,
  type TurnAction,
  type TurnInput,
  type TurnView,
} from '../turns/turn-detector.ts';
import { VoiceActivity } from '../turns/voice-activity.ts';

/** A telephone that sends nothing for this long is gone, whatever its socket says. */
const NO_MEDIA_MS = 10_000;
/** "Hello?" within this time of the answer greets back; it does not interrupt. */
const GREETING_GRACE_MS = 2000;
/** A goodbye that could not be heard by then is not waited for. */
const GOODBYE_LIMIT_MS = 30_000;
/** Voiced sound without words is forgotten after this much silence. */
const FORGET_VOICE_MS = 2000;

const APOLOGY = 'I am sorry, I had a problem just now. Could you say that again?';
const GIVING_UP = 'I am sorry, something is not working on our side. Please call again later.';

/** A far end whose connection was lost has this long to come back on another one. */
const REJOIN_GRACE_MS = 15_000;
/** What is to be said on command waits for its turn; beyond so many texts more are refused. */
const MAX_WAITING_TEXTS = 8;
/** A far end of realtime that sent no audio for this long has its microphone off: it may be silent. */
const MICROPHONE_OFF_MS = 2000;

/** What the agent is saying, or about to say. */
interface CurrentReply {
  id: number;
  reply: Reply;
  kind: ReplyKind;
  interruptible: boolean;
  /** Written, not spoken. */
  silent: boolean;
  turnIndex: number | undefined;
  /** Where the caller's turn that it answers ended; monotonic ms. */
  lastVoicedAt: number | undefined;
  closedAt: number;
  firstAudioAt: number | undefined;
}

interface PreparedReply {
  reply: Reply;
  told: ToldText;
  silent: boolean;
  text: string;
  /** The caller's turn was over with this text. */
  committed: boolean;
}

/**
 * Begins the conversation that a plan describes with a participant who is there.
 * The call disposes of what was made for it alone: providers, recorder, participant.
 */
export function openCall(deps: CallDeps): Call {
  return new LiveCall(deps);
}

class LiveCall implements Call, ParticipantListener {
  readonly sessionId: string;
  readonly ended: Promise<CallReport>;
  readonly #deps: CallDeps;
  readonly #abort = new AbortController();
  readonly #log: CallLog;
  readonly #playout: Playout;
  readonly #conversation: Conversation;
  readonly #prompt: PromptTexts;
  readonly #voices: CallVoices;
  readonly #tools: CallTools;
  readonly #detector: TurnDetector;
  readonly #voice: VoiceActivity;
  readonly #dtmf: DtmfCollector;
  readonly #variables: Record<string, string>;
  /** Monotonic ms of `answeredAt`. */
  readonly #zero: number;
  readonly #inputBytesPerMs: number;
  readonly #view: TurnView;
  readonly #removeTick: () => void;
  readonly #resolveEnded: (report: CallReport) => void;
  readonly #carrier: CarrierRequests;
  readonly #pushed: PushToTalk;
  readonly #silence: SilenceWatch;

  #llms: LlmProvider[] | undefined;
  #stt: SttStream | undefined;
  #sttIndex = -1;
  #current: CurrentReply | undefined;
  /** Thought ahead for a turn that is not sure to be over. */
  #prepared: PreparedReply | undefined;
  #replies = 0;
  /** The reply that ended last. */
  #last: CurrentReply | undefined;
  /** The call ends with this as soon as what is being said was heard. */
  #farewell: { reason: CallEndReason; since: number } | undefined;
  #transfer: Transfer | undefined;
  #transferMs = 0;
  #over = false;

  #turnStartedAt: number | undefined;
  #detection = { respond: true, interrupt: true, listen: true };
  /** The agent writes instead of speaking. */
  #written: boolean;
  /** Things that a far end put into the conversation. */
  #given = 0;
  /** The connection was lost and may come back. */
  #away = false;
  #rejoinTimer: Timer | undefined;
  #lastMediaAt: number;
  #mediaBase: { timestamp: number; atMs: number } | undefined;
  #agentEndedAt: number | undefined;
  #callerSpoke = false;
  #failures = 0;
  /** Texts to be said on command, in order, as soon as nothing else is. */
  readonly #toSay: string[] = [];

  constructor(deps: CallDeps) {
    const { plan, participant, clock } = deps;
    const { config } = plan.agent;
    this.#deps = deps;
    this.#written = deps.written ?? false;
    this.sessionId = plan.session_id;
    this.#zero = clock.monotonic() - (clock.now() - deps.answeredAt);
    this.#lastMediaAt = clock.monotonic();
    this.#variables = { ...plan.variables };
    this.#inputBytesPerMs = bytesPerMs(participant.inputFormat);
    this.#log = new CallLog(deps.reporter, plan.history);
    this.#conversation = new Conversation(plan.history);
    this.#playout = new Playout({
      participant,
      clock,
      recorder: deps.recorder,
      answeredAtMonotonic: this.#zero,
    });
    this.#voices = new CallVoices(deps.providers.tts);
    this.#detector = new TurnDetector(config, config.language.primary);
    this.#voice = new VoiceActivity(participant.inputFormat, config.turn_taking.vad_threshold);
    this.#silence = new SilenceWatch(config.silence);
    this.#carrier = new CarrierRequests({
      clock,
      send: (request) => this.#emit('carrier_command', request),
    });
    this.#pushed = new PushToTalk({
      clock,
      finalize: () => this.#stt?.finalize(),
      onUtterance: (utterance) => this.#onPushed(utterance),
    });
    this.#dtmf = new DtmfCollector(config.dtmf, clock, (digits) => this.#onDigits(digits));
    this.#prompt = new PromptTexts({
      plan,
      variables: this.#variables,
      now: () => clock.now(),
      callSeconds: () => this.#offset() / 1000,
      onMissing: (name) => this.#emit('warning', { code: 'missing_variable', name }),
    });
    this.#tools = new CallTools({
      tools: plan.tools,
      config,
      canTransfer: participant.kind === 'phone',
      canSendDtmf: participant.dtmfOut !== 'none',
      runner: deps.tools,
      session: () => ({
        session_id: plan.session_id,
        agent_id: plan.agent.agent_id,
        channel: plan.channel,
        direction: plan.direction,
        from_number: plan.system.caller_number,
        to_number: plan.system.called_number,
        variables: { ...this.#variables },
      }),
      orgId: plan.org_id,
      allow: plan.outbound_allow,
      client: deps.clientTools,
      monotonic: () => clock.monotonic(),
      signal: this.#abort.signal,
      controls: {
        endAfterSpeech: (message) =>
          this.#endAfterSpeech({ ended_by: 'agent', hangup_reason: 'agent_hangup' }, message),
        transferAfterSpeech: (destination) => this.#transferAfterSpeech(destination),
        sendDtmf: (digits) => this.#sendDtmf(digits),
        emitTool: (type, data) => this.#emit(type, data),
        assign: (variables) => Object.assign(this.#variables, variables),
        toolTook: (ms) => this.#log.addSample('tool_ms', ms),
      },
    });
    this.#view = {
      nowMs: 0,
      agent: 'idle',
      audible: false,
      interruptible: true,
      greetingGrace: false,
      lastVoicedAt: -Infinity,
      voicedMs: 0,
      lastVoicedAudioMs: 0,
    };
    let resolveEnded!: (report: CallReport) => void;
    this.ended = new Promise((resolve) => (resolveEnded = resolve));
    this.#resolveEnded = resolveEnded;

    this.#emit('call_started', {
      answered_at: new Date(deps.answeredAt).toISOString(),
      encoding: participant.inputFormat.encoding,
      sample_rate: participant.inputFormat.sampleRate,
      emulated: [
        ...new Set([...plan.stt, ...plan.llm, ...plan.tts].filter((p) => p.emulated).map((p) => p.provider)),
      ],
    });
    if (plan.record.enabled)
      this.#emit('recording', { recording_id: plan.record.recording_id, status: 'recording' });
    if (!plan.text_only) {
      this.#openStt();
      this.#voices.current.warm();
    }
    this.#llm().forEach((llm) => llm.warm());
    this.#removeTick = deps.ticker.add((now) => this.#onTick(now));
    participant.attach(this);
    if (plan.leg === 0) this.#greet();
  }

  // ---- the far end ----

  onAudio(bytes: Uint8Array, timestampMs: number | undefined): void {
    if (this.#over) return;
    const now = this.#deps.clock.monotonic();
    this.#lastMediaAt = now;
    const durationMs = bytes.length / this.#inputBytesPerMs;
    this.#deps.recorder.caller(bytes, this.#mediaTime(timestampMs, now, durationMs));
    this.#stt?.write(bytes);
    this.#log.usage.stt_seconds += durationMs / 1000;
    const begins = this.#voice.push(bytes, durationMs, now);
    if (!this.#detection.listen) this.#pushed.audio(durationMs);
    else if (begins) {
      this.#turnBegins(now);
      this.#input({ type: 'voice' });
    }
  }

  onMark(name: string): void {
    this.#lastMediaAt = this.#deps.clock.monotonic();
    this.#playout.onMark(name);
  }

  onDtmf(digit: string): void {
    const { dtmf } = this.#deps.plan.agent.config;
    if (this.#over || !dtmf.receive) return;
    this.#emit('dtmf', { direction: 'received', digit });
    this.#callerIsThere();
    if (dtmf.interrupts && this.#current?.interruptible) this.#interruptCurrent();
    this.#dtmf.press(digit);
  }

  onGone({ stopped, code }: { stopped: boolean; code: number }): void {
    if (this.#deps.participant.kind === 'realtime') {
      this.#onRealtimeGone(code);
      return;
    }
    if (this.#transfer?.begun) {
      // The carrier takes the stream away while it connects the caller: its answer says how that went.
      this.#transfer.gone = { stopped, code };
      return;
    }
    const orderly = stopped || code === 1000 || code === 1001 || code === 1005;
    this.#end(
      orderly
        ? { ended_by: 'caller', hangup_reason: 'caller_hangup' }
        : code === closeCodes.lost
          ? { ended_by: 'carrier', hangup_reason: 'carrier_hangup' }
          : // It broke the protocol or a limit, or could not go on.
            { ended_by: 'carrier', failure_reason: 'carrier_error' },
      false,
    );
  }

  /** A connection that vanished may come back as another leg; meanwhile the agent is silent. */
  #onRealtimeGone(code: number): void {
    const end = () => this.#end({ ended_by: 'caller', hangup_reason: 'caller_hangup' }, false);
    if (code !== closeCodes.lost || this.#farewell) {
      end();
      return;
    }
    // Closed like an interruption, so that the next leg knows what was said until now.
    this.#cancelCurrent();
    this.#commitOpenTurn();
    this.#away = true;
    this.#rejoinTimer = this.#deps.clock.setTimeout(end, REJOIN_GRACE_MS);
  }

  /** Where caller audio belongs on the call's clock: by the carrier's own time where that makes sense. */
  #mediaTime(timestampMs: number | undefined, now: number, durationMs: number): number {
    const arrivedMs = now - this.#zero - durationMs;
    if (timestampMs === undefined) return Math.max(0, arrivedMs);
    this.#mediaBase ??= { timestamp: timestampMs, atMs: Math.max(0, arrivedMs) };
    const atMs = this.#mediaBase.atMs + (timestampMs - this.#mediaBase.timestamp);
    if (Math.abs(atMs - arrivedMs) <= 1000) return atMs;
    this.#mediaBase = { timestamp: timestampMs, atMs: Math.max(0, arrivedMs) };
    return this.#mediaBase.atMs;
  }

  // ---- listening ----

  #openStt(): void {
    const { plan, participant, providers } = this.#deps;
    const make = providers.stt[++this.#sttIndex];
    if (!make) return;
    const { config } = plan.agent;
    this.#stt = make().open(
      {
        format: participant.inputFormat,
        language: config.language.primary,
        keywords: config.stt.keywords,
        endpointingMs: config.stt.endpointing_ms,
      },
      {
        onSpeechStarted: () => {
          if (!this.#detection.listen) return;
          this.#turnBegins(this.#deps.clock.monotonic());
          this.#input({ type: 'stt_speech' });
        },
        onInterim: (transcript) => {
          if (this.#detection.listen) this.#turnBegins(this.#deps.clock.monotonic());
          else this.#pushed.interim(transcript);
          this.#deps.observer?.onInterim?.(transcript);
          this.#input({ type: 'interim', transcript });
        },
        onTurnEnd: (transcript) => {
          if (this.#detection.listen) this.#input({ type: 'turn_end', transcript });
          else this.#pushed.text(transcript);
        },
        onEagerTurnEnd: (transcript) => this.#input({ type: 'eager_end', transcript }),
        onTurnResumed: () => this.#input({ type: 'resumed' }),
        onFailed: (error) => this.#onSttFailed(error),
      },
    );
  }

  #onSttFailed(error: ProviderError): void {
    if (this.#over) return;
    this.#warn('stt_trouble', error);
    void this.#stt?.[Symbol.asyncDispose]();
    this.#stt = undefined;
    if (this.#sttIndex + 1 < this.#deps.providers.stt.length) {
      this.#openStt();
      return;
    }
    this.#emit('error', { code: 'stt_error', fault: error.fault });
    this.#interruptCurrent();
    this.#endAfterSpeech({ ended_by: 'system', failure_reason: 'stt_error' }, GIVING_UP);
  }

  #turnBegins(now: number): void {
    this.#callerIsThere();
    if (this.#turnStartedAt !== undefined) return;
    this.#turnStartedAt = now;
    if (this.#agentEndedAt !== undefined && this.#current === undefined) {
      this.#log.addSample('caller_reply_ms', now - this.#agentEndedAt);
      this.#agentEndedAt = undefined;
    }
    this.#deps.observer?.onSpeechStarted?.(this.#voice.audioMs);
  }

  #callerIsThere(): void {
    this.#silence.broken();
    this.#callerSpoke = true;
  }

  // ---- whose turn it is ----

  #activity(): AgentActivity {
    if (!this.#current) return 'idle';
    if (this.#playout.held) return 'held';
    return this.#playout.audible ? 'speaking' : 'thinking';
  }

  #input(input: TurnInput): void {
    if (this.#over || this.#away || this.#farewell || this.#transfer?.begun || !this.#detection.listen)
      return;
    const view = this.#view;
    const current = this.#current;
    view.nowMs = this.#deps.clock.monotonic();
    view.agent = this.#activity();
    view.audible = current !== undefined && this.#playout.audible;
    view.interruptible = (current?.interruptible ?? true) && this.#detection.interrupt;
    view.greetingGrace =
      current?.kind === 'greeting' &&
      this.#deps.plan.direction === 'outbound' &&
      this.#turnStartedAt !== undefined &&
      this.#turnStartedAt - this.#zero <= GREETING_GRACE_MS;
    view.lastVoicedAt = this.#voice.lastVoicedAt;
    view.voicedMs = this.#voice.voicedMs;
    view.lastVoicedAudioMs = this.#voice.lastVoicedAudioMs;
    for (const action of this.#detector.handle(input, view)) this.#act(action);
  }

  #act(action: TurnAction): void {
    switch (action.type) {
      case 'hold':
        this.#hold();
        break;
      case 'resume':
        this.#forgetVoice();
        this.#resume();
        break;
      case 'cancel':
        this.#interruptCurrent();
        break;
      case 'prepare':
        if (!this.#current && !this.#prepared && this.#detection.respond && !this.#tools.busy)
          this.#prepare(action.text);
        break;
      case 'discard':
        this.#discardPrepared();
        break;
      case 'turn':
        this.#onCallerTurn(action.transcript);
        break;
      case 'aside':
        this.#onAside(action.transcript);
        break;
      case 'finalize':
        this.#stt?.finalize();
        break;
      case 'decision':
        this.#emit('turn_decision', action.decision);
        break;
    }
  }

  #hold(): void {
    const { observer } = this.#deps;
    const current = this.#current;
    const heardBefore = this.#playout.audible && !this.#playout.held;
    this.#playout.hold();
    if (current && heardBefore)
      observer?.onReplyHeld?.({ id: current.id, text: this.#playout.textUntil(this.#playout.heardMs) });
  }

  #resume(): void {
    const current = this.#current;
    // Before audio goes out again.
    if (current && this.#playout.held && this.#playout.audible)
      this.#deps.observer?.onReplyResumed?.({ id: current.id });
    this.#playout.resume();
  }

  /** A voice that said nothing. */
  #forgetVoice(): void {
    const began = this.#turnStartedAt !== undefined;
    this.#voice.resetVoiced();
    this.#turnStartedAt = undefined;
    if (began) this.#deps.observer?.onSpeechForgotten?.(this.#voice.lastVoicedAudioMs);
  }

  #onCallerTurn(transcript: SttTranscript): void {
    const { clock, observer } = this.#deps;
    const now = clock.monotonic();
    const lastVoicedAt = this.#voice.lastVoicedAt;
    const prepared = this.#prepared;
    this.#prepared = undefined;
    if (!prepared) this.#cancelCurrent();
    const key = this.#commitCaller(transcript);
    observer?.onCallerTurn?.({ key, text: transcript.text, audioEndMs: this.#voice.lastVoicedAudioMs });
    if (!this.#detection.respond) {
      prepared?.reply.cancel();
      if (prepared) this.#playout.cancel();
      return;
    }
    if (prepared) {
      // What was begun when the caller seemed to have finished is the answer.
      prepared.committed = true;
      this.#adopt(prepared, 'answer', lastVoicedAt, now);
      prepared.reply.release();
      this.#playout.resume();
      return;
    }
    this.#answer(lastVoicedAt, now);
  }

  #onAside(transcript: SttTranscript): void {
    this.#commitCaller(transcript, { remember: false });
    this.#deps.observer?.onAside?.({ text: transcript.text, audioEndMs: this.#voice.lastVoicedAudioMs });
  }

  /** Writes down what the caller said. @returns its key */
  #commitCaller(transcript: SttTranscript, options: { remember: boolean } = { remember: true }): string {
    const turnIndex = this.#log.newTurnIndex();
    const startMs = this.#at(this.#turnStartedAt ?? this.#voice.lastVoicedAt);
    const endMs = Math.max(startMs, this.#at(this.#voice.lastVoicedAt));
    this.#turnStartedAt = undefined;
    this.#voice.resetVoiced();
    const key = `turn:${turnIndex}`;
    if (options.remember) this.#conversation.addCaller(transcript.text, { key });
    this.#log.commit({
      turn_index: turnIndex,
      role: 'caller',
      text: transcript.text,
      start_ms: startMs,
      end_ms: endMs,
      ...(transcript.language === undefined ? {} : { language: transcript.language }),
      interrupted: false,
      ...(transcript.confidence === undefined
        ? {}
        : { confidence: Math.min(1, Math.max(0, transcript.confidence)) }),
      redacted: false,
    });
    this.#saveProgress();
    return key;
  }

  /** What the caller was saying, as far as it was understood. */
  #commitOpenTurn(): void {
    const open = this.#detector.take();
    if (open && open.text !== '') this.#commitCaller(open);
  }

  // ---- speaking ----

  #greet(): void {
    const { plan, clock } = this.#deps;
    const { greeting } = plan.agent.config;
    const text = this.#prompt.render(plan.agent.greeting).trim();
    const begin = () => {
      if (this.#over || this.#farewell || this.#transfer || this.#current || this.#callerSpoke) return;
      if (greeting.mode === 'agent_first_generated' || text === '')
        this.#answer(
          undefined,
          clock.monotonic(),
          'greeting',
          'The call has just been answered. Greet the caller.',
        );
      else this.#speak(text, 'greeting', greeting.interruptible);
    };
    if (greeting.mode === 'caller_first')
      clock.setTimeout(begin, greeting.caller_first_timeout_seconds * 1000);
    else if (text === '' && greeting.mode === 'agent_first') return;
    else if (greeting.delay_ms > 0) clock.setTimeout(begin, greeting.delay_ms);
    else begin();
  }

  /** Thinks and answers. @param note something the LLM should know first */
  #answer(
    lastVoicedAt: number | undefined,
    closedAt: number,
    kind: ReplyKind = 'answer',
    note?: string,
    silent = this.#written,
  ): void {
    if (this.#over || this.#away || this.#farewell || this.#transfer?.begun) return;
    this.#cancelCurrent();
    if (note !== undefined) this.#conversation.addNote(note);
    if (this.#tools.busy) {
      // What a tool does on behalf of an earlier turn is known before the next answer is thought of.
      const replies = this.#replies;
      void this.#tools.idle().then(() => {
        if (this.#replies === replies && !this.#current)
          this.#answer(lastVoicedAt, closedAt, kind, undefined, silent);
      });
      return;
    }
    this.#playoutBegin(false);
    const told = new ToldText(this.#deps.observer);
    const messages = () => this.#conversation.toMessages(this.#prompt.systemPrompt());
    const reply = new Reply(this.#replyDeps(messages, told, silent), { released: true });
    this.#adopt({ reply, told, silent }, kind, lastVoicedAt, closedAt);
  }

  /** Says a fixed text. */
  #speak(text: string, kind: ReplyKind, interruptible: boolean): void {
    this.#cancelCurrent();
    this.#playoutBegin(false);
    const told = new ToldText(this.#deps.observer);
    const silent = this.#written;
    const reply = new Reply(
      this.#replyDeps(() => [], told, silent),
      { speech: text, released: true },
    );
    const now = this.#deps.clock.monotonic();
    this.#adopt({ reply, told, silent }, kind, undefined, now, interruptible);
  }

  #prepare(text: string): void {
    this.#playoutBegin(true);
    const told = new ToldText(this.#deps.observer);
    const prepared: PreparedReply = {
      text,
      committed: false,
      told,
      silent: this.#written,
      reply: undefined as unknown as Reply,
    };
    const messages = () =>
      this.#conversation.toMessages(this.#prompt.systemPrompt(), prepared.committed ? undefined : text);
    prepared.reply = new Reply(this.#replyDeps(messages, told, prepared.silent), { released: false });
    this.#prepared = prepared;
  }

  #discardPrepared(): void {
    if (!this.#prepared) return;
    this.#prepared.reply.cancel();
    this.#prepared = undefined;
    this.#playout.cancel();
  }

  #playoutBegin(held: boolean): void {
    this.#playout.begin(
      {
        onStarted: (atMs) => this.#onAudible(atMs),
        onSent: () => this.#onSent(),
        onFinished: (heard) => this.#onHeard(heard),
      },
      { held },
    );
  }

  #adopt(
    { reply, told, silent }: Pick<PreparedReply, 'reply' | 'told' | 'silent'>,
    kind: ReplyKind,
    lastVoicedAt: number | undefined,
    closedAt: number,
    interruptible = true,
  ): void {
    const id = ++this.#replies;
    const key = `reply:${id}`;
    this.#conversation.beginReply(reply.parts, key);
    const current: CurrentReply = {
      id,
      reply,
      kind,
      interruptible,
      silent,
      turnIndex: undefined,
      lastVoicedAt: lastVoicedAt === -Infinity ? undefined : lastVoicedAt,
      closedAt,
      firstAudioAt: undefined,
    };
    this.#current = current;
    this.#agentEndedAt = undefined;
    this.#deps.observer?.onReplyStarted?.({ id, key, kind, silent });
    told.begin(id);
    void reply.outcome.then((outcome) => this.#onOutcome(current, outcome));
  }

  #replyDeps(messages: () => ReturnType<Conversation['toMessages']>, told: ToldText, silent: boolean) {
    const { plan, clock, participant } = this.#deps;
    const { config } = plan.agent;
    return {
      llms: this.#llm(),
      voices: this.#voices,
      playout: this.#playout,
      tools: this.#tools,
      clock,
      messages,
      settings: {
        temperature: config.llm.temperature,
        maxOutputTokens: config.llm.max_output_tokens,
        requestTimeoutMs: config.llm.request_timeout_ms,
        maxToolSteps: config.limits.max_tool_steps,
        cacheKey: plan.agent.agent_id ?? plan.project_id,
        filler: config.filler.enabled
          ? {
              afterMs: config.filler.after_ms,
              messages: config.filler.messages,
              maxPerTurn: config.filler.max_per_turn,
            }
          : undefined,
      },
      output: participant.outputFormat,
      silent,
      usage: this.#log.usage,
      events: {
        onText: (delta: string) => told.add(delta),
        onWarning: (code: string, error: unknown) => this.#warn(code, error),
      },
    };
  }

  #llm(): LlmProvider[] {
    this.#llms ??= this.#deps.providers.llm.map((make) => make());
    return this.#llms;
  }

  #onAudible(atMs: number): void {
    const current = this.#current;
    if (!current) return;
    current.firstAudioAt = atMs;
    current.turnIndex ??= this.#log.newTurnIndex();
  }

  #onSent(): void {
    const current = this.#current;
    if (current) this.#deps.observer?.onReplySent?.({ id: current.id, tokens: current.reply.tokens });
  }

  #onOutcome(current: CurrentReply, outcome: ReplyOutcome): void {
    if (this.#current !== current || this.#over) return;
    if (outcome.status === 'spoken') {
      if (current.kind !== 'apology') this.#failures = 0;
      return;
    }
    if (outcome.status === 'cancelled') return;
    this.#emit('error', {
      code: outcome.reason,
      ...(outcome.error instanceof ProviderError ? { fault: outcome.error.fault } : {}),
    });
    if (!(outcome.error instanceof ProviderError))
      this.#deps.logger.error({ err: outcome.error }, 'reply failed');
    this.#failures++;
    this.#settle(current, this.#playout.cancel(), 'failed', outcome.reason);
    const hopeless =
      this.#failures > 1 || (outcome.error instanceof ProviderError && outcome.error.fault === 'auth');
    if (outcome.reason === 'llm_error' && !hopeless) {
      this.#speak(APOLOGY, 'apology', true);
      return;
    }
    const reason: CallEndReason = { ended_by: 'system', failure_reason: outcome.reason };
    if (outcome.reason === 'llm_error') this.#endAfterSpeech(reason, GIVING_UP);
    else this.end(reason);
  }

  /** All of a speech was heard. */
  #onHeard(heard: HeardSpeech): void {
    const current = this.#current;
    if (!current) return;
    this.#settle(current, heard, 'completed');
    this.#agentEndedAt = this.#playout.lastHeardAt;
    const { phrases } = this.#deps.plan.agent.config.end_call;
    const said = heard.text.toLowerCase();
    if (this.#farewell) this.end(this.#farewell.reason);
    else if (this.#transfer && !this.#transfer.begun) this.#continueTransfer(heard.text !== '');
    else if (phrases.some((phrase) => said.includes(phrase.toLowerCase())))
      this.end({ ended_by: 'agent', hangup_reason: 'agent_hangup' });
    else this.#sayNext();
  }

  /** The caller has the floor. */
  #interruptCurrent(): boolean {
    const current = this.#current;
    if (!current || current.kind === 'goodbye') return false;
    const wasAudible = this.#playout.audible;
    const heard = this.#cancelCurrent();
    if (wasAudible)
      this.#emit('interruption', { turn_index: current.turnIndex, heard_ms: heard?.heardMs ?? 0 });
    return true;
  }

  /** Ends what the agent is saying or thinking here; what was heard of it stays. */
  #cancelCurrent(): HeardSpeech | undefined {
    this.#discardPrepared();
    const current = this.#current;
    if (!current) return undefined;
    current.reply.cancel();
    const heard = this.#playout.cancel();
    this.#settle(current, heard, 'interrupted');
    return heard;
  }

  #settle(
    current: CurrentReply,
    heard: HeardSpeech | undefined,
    status: 'completed' | 'interrupted' | 'failed',
    code?: string,
  ): void {
    this.#current = undefined;
    this.#last = current;
    const known = current.silent ? this.#asRead(current, heard) : heard;
    this.#commitAgent(current, known);
    this.#deps.observer?.onReplyEnded?.({
      id: current.id,
      status,
      text: known?.text ?? '',
      heardMs: known?.heardMs ?? 0,
      code,
      tokens: current.reply.tokens,
    });
  }

  /** What was only written is read at once. */
  #asRead(current: CurrentReply, heard: HeardSpeech | undefined): HeardSpeech {
    const text = current.reply.parts.flatMap((part) => (part.type === 'speech' ? [part.text] : [])).join(' ');
    const at = this.#deps.clock.monotonic();
    return { text, complete: heard?.complete ?? false, heardMs: 0, startedAt: at, endedAt: at };
  }

  /** Writes down what was heard of a reply: in the transcript, and for the LLM. */
  #commitAgent(current: CurrentReply, heard: HeardSpeech | undefined): void {
    const text = heard?.text ?? '';
    const complete = heard?.complete ?? false;
    this.#conversation.settleReply(current.reply.parts, complete ? undefined : text);
    if (text !== '' && heard?.startedAt !== undefined) {
      const { times } = current.reply;
      const between = (from: number | undefined, to: number | undefined) =>
        from === undefined || to === undefined ? null : Math.max(0, Math.round(to - from));
      this.#log.commit({
        turn_index: (current.turnIndex ??= this.#log.newTurnIndex()),
        role: 'agent',
        text,
        start_ms: this.#at(heard.startedAt),
        end_ms: this.#at(heard.endedAt ?? heard.startedAt),
        interrupted: !complete,
        redacted: false,
        latency: {
          e2e: between(current.lastVoicedAt, current.firstAudioAt),
          stt_final: between(current.lastVoicedAt, current.closedAt),
          llm_first_token: between(times.llmRequestAt, times.llmFirstTokenAt),
          tts_first_audio: between(times.ttsFirstTextAt, times.ttsFirstAudioAt),
        },
      });
      this.#saveProgress();
    }
  }

  // ---- time ----

  #onTick(now: number): void {
    if (this.#over || this.#away) return;
    this.#playout.pump();
    this.#input({ type: 'tick' });
    const { plan, participant } = this.#deps;
    const { config } = plan.agent;
    if (now - this.#zero >= plan.limits.max_duration_seconds * 1000) {
      this.#endAfterSpeech(
        { ended_by: 'system', hangup_reason: 'max_duration' },
        config.end_call.message === '' ? undefined : config.end_call.message,
      );
    }
    this.#sayNext();
    // While a transfer rings the carrier has the caller, and tells us how it went.
    if (participant.kind === 'phone' && !this.#transfer?.begun && now - this.#lastMediaAt >= NO_MEDIA_MS) {
      this.#end({ ended_by: 'system', failure_reason: 'media_timeout' }, true);
      return;
    }
    if (this.#farewell) {
      if (!this.#current || now - this.#farewell.since >= GOODBYE_LIMIT_MS) this.end(this.#farewell.reason);
      return;
    }
    if (
      this.#voice.voicedMs > 0 &&
      now - this.#voice.lastVoicedAt > FORGET_VOICE_MS &&
      this.#detector.openText === '' &&
      !this.#playout.held
    ) {
      this.#forgetVoice();
    }
    if (
      !this.#current &&
      !this.#mayBeSilent(now) &&
      !this.#prepared &&
      !this.#transfer &&
      !this.#tools.busy &&
      this.#turnStartedAt === undefined
    )
      this.#onSilence();
  }

  /** Nobody is at a microphone: writing, or pushing to talk. */
  #mayBeSilent(now: number): boolean {
    if (!this.#detection.listen || !this.#detection.respond) return true;
    return this.#deps.participant.kind === 'realtime' && now - this.#lastMediaAt > MICROPHONE_OFF_MS;
  }

  #onSilence(): void {
    const step = this.#silence.pass(TICK_MS);
    if (!step) return;
    if (step.type === 'end') {
      const { end_message: message } = this.#deps.plan.agent.config.silence;
      this.#endAfterSpeech(
        { ended_by: 'system', hangup_reason: 'silence' },
        message === '' ? undefined : this.#prompt.render(message),
      );
    } else if (step.message !== undefined) this.#speak(this.#prompt.render(step.message), 'reminder', true);
    else
      this.#answer(
        undefined,
        this.#deps.clock.monotonic(),
        'reminder',
        'The caller has been silent for a while. Ask briefly whether they are still there.',
      );
  }

  // ---- keys ----

  #onDigits(digits: string): void {
    if (this.#over || this.#farewell) return;
    this.#emit('dtmf', { direction: 'entry', digits });
    const turnIndex = this.#log.newTurnIndex();
    const at = this.#offset();
    this.#log.commit({
      turn_index: turnIndex,
      role: 'caller',
      text: `(keys) ${digits}`,
      start_ms: at,
      end_ms: at,
      interrupted: false,
      redacted: false,
    });
    // Nobody answers into a transfer.
    if (this.#transfer) return;
    this.#answer(
      undefined,
      this.#deps.clock.monotonic(),
      'answer',
      `The caller pressed these keys: ${digits}`,
    );
  }

  async #sendDtmf(digits: string): Promise<boolean> {
    const { participant } = this.#deps;
    this.#emit('dtmf', { direction: 'sent', digits });
    if (participant.dtmfOut === 'socket') {
      participant.sendDtmf(digits);
      return true;
    }
    return (await this.#carrier.ask('send_dtmf', { digits })).ok;
  }

  // ---- the carrier ----

  /** @returns why not, if so */
  #transferAfterSpeech(destination: TransferDestination): string | undefined {
    if (this.#farewell) return 'ending';
    if (this.#transfer) return 'transfer_in_progress';
    this.#transfer = new Transfer(destination);
    if (this.#current) this.#current.interruptible = false;
    else this.#continueTransfer(false);
    return undefined;
  }

  /** @param announced the caller was told that they are being connected */
  #continueTransfer(announced: boolean): void {
    const text = this.#transfer!.destination.announce_to_caller;
    if (announced || text === '') void this.#runTransfer();
    else this.#speak(this.#prompt.render(text), 'say', false);
  }

  async #runTransfer(): Promise<void> {
    const transfer = this.#transfer!;
    const { destination } = transfer;
    const { plan, clock } = this.#deps;
    const startedAt = clock.monotonic();
    this.#emit('transfer', { transfer_id: transfer.id, phase: 'begun', destination_id: destination.id });
    const result = await transfer.run(this.#carrier, plan, this.#variables);
    this.#transferMs += Math.round(clock.monotonic() - startedAt);
    if (this.#over) return;
    this.#transfer = undefined;
    this.#lastMediaAt = clock.monotonic();
    if (result.ok) {
      this.#emit('transfer', { transfer_id: transfer.id, phase: 'bridged', destination_id: destination.id });
      this.#end({ ended_by: 'agent', hangup_reason: 'transferred' }, false);
      return;
    }
    this.#emit('transfer', {
      transfer_id: transfer.id,
      phase: 'failed',
      destination_id: destination.id,
      code: result.code ?? 'failed',
    });
    if (transfer.gone) {
      this.onGone(transfer.gone);
      return;
    }
    this.#conversation.addNote(`The transfer to ${destination.id} did not work.`);
    const message =
      destination.failure_message === '' ? undefined : this.#prompt.render(destination.failure_message);
    if (destination.on_failure === 'return') {
      if (message === undefined) this.#answer(undefined, clock.monotonic(), 'answer');
      else this.#speak(message, 'say', true);
    } else this.#endAfterSpeech({ ended_by: 'agent', hangup_reason: 'agent_hangup' }, message);
  }

  // ---- commands ----

  command(command: GatewayCommand): string | undefined {
    if (this.#over) return 'not_live';
    switch (command.type) {
      case 'end': {
        const args = COMMAND_ARGS.end.parse(command.args);
        const reason = { ended_by: args.ended_by, hangup_reason: args.hangup_reason } as CallEndReason;
        // Whom a transfer has reached is told nothing by us.
        if (args.message === undefined || this.#transfer?.begun) this.end(reason);
        else if (!this.#farewell) {
          this.#cancelCurrent();
          this.#endAfterSpeech(reason, args.message);
        }
        return undefined;
      }
      case 'say':
        return this.#sayInTurn(COMMAND_ARGS.say.parse(command.args).text);
      case 'event': {
        const args = COMMAND_ARGS.event.parse(command.args);
        Object.assign(this.#variables, args.variables);
        this.#conversation.addNote(
          `Event: ${args.name}${args.variables ? ` ${JSON.stringify(args.variables)}` : ''}`,
        );
        return args.say === undefined ? undefined : this.#sayInTurn(args.say);
      }
      case 'transfer': {
        const { destination_id: id } = COMMAND_ARGS.transfer.parse(command.args);
        const destination = this.#deps.plan.agent.config.transfer.destinations.find(
          (candidate) => candidate.id === id,
        );
        if (!destination || this.#deps.participant.kind !== 'phone') return 'unknown_destination';
        if (this.#farewell) return 'ending';
        if (this.#transfer) return 'transfer_in_progress';
        this.#cancelCurrent();
        return this.#transferAfterSpeech(destination);
      }
      case 'carrier_result': {
        const args = COMMAND_ARGS.carrier_result.parse(command.args);
        this.#carrier.onResult(args.command_id, args);
        return undefined;
      }
      case 'report_stored':
        return undefined;
    }
  }

  /** Says a text after what is being said. @returns why not, if so */
  #sayInTurn(text: string): string | undefined {
    if (this.#away) return 'away';
    if (this.#farewell) return 'ending';
    if (this.#transfer) return 'transferring';
    if (this.#toSay.length >= MAX_WAITING_TEXTS) return 'too_many_waiting';
    this.#toSay.push(this.#prompt.render(text));
    this.#sayNext();
    return undefined;
  }

  /** The next text that waits, unless somebody has the floor: the agent, or a caller whose words await an answer. */
  #sayNext(): void {
    if (this.#toSay.length === 0 || this.#over || this.#away || this.#farewell || this.#transfer) return;
    if (this.#current || this.#prepared || this.#tools.busy || this.#detector.openText !== '') return;
    this.#speak(this.#toSay.shift()!, 'say', true);
  }

  // ---- far ends that take part in the turns themselves (realtime) ----

  addCallerText(text: string, after?: string | null): string {
    const turnIndex = this.#log.newTurnIndex();
    const key = `turn:${turnIndex}`;
    if (this.#over) return key;
    this.#callerIsThere();
    const at = this.#offset();
    this.#conversation.addCaller(text, { key, after });
    this.#log.commit({
      turn_index: turnIndex,
      role: 'caller',
      text,
      start_ms: at,
      end_ms: at,
      interrupted: false,
      redacted: false,
    });
    this.#saveProgress();
    return key;
  }

  addAgentText(text: string, after?: string | null): string {
    const place: Place = { key: `given:${++this.#given}`, after };
    this.#conversation.addAgent(text, place);
    return place.key;
  }

  forget(key: string): boolean {
    return this.#conversation.remove(key);
  }

  answerTool(callId: string, content: string): boolean {
    return !this.#over && this.#tools.answer(callId, content);
  }

  respond(options: { silent?: boolean } = {}): boolean {
    if (this.#over || this.#away || this.#farewell || this.#current) return false;
    if (this.#pushed.committing) this.#pushed.respondThen(options);
    else this.#answer(undefined, this.#deps.clock.monotonic(), 'answer', undefined, options.silent);
    return true;
  }

  interrupt(): boolean {
    return this.#current?.interruptible === true && this.#interruptCurrent();
  }

  truncate(replyId: number, heardMs: number): string | undefined {
    if (this.#current?.id === replyId) {
      this.#playout.limitHeard(heardMs);
      return this.#playout.textUntil(Math.min(heardMs, this.#playout.heardMs));
    }
    // The far end knows better how much of what was said last it had played.
    const last = this.#last?.id === replyId ? this.#last : undefined;
    const heard = last && this.#playout.reconsider(heardMs);
    if (!heard) return undefined;
    this.#commitAgent(last, heard);
    return heard.text;
  }

  commitCallerAudio(): boolean {
    if (this.#over) return false;
    if (this.#detection.listen) {
      if (this.#detector.openText === '' && this.#turnStartedAt === undefined) return false;
      this.#stt?.finalize();
      return true;
    }
    if (!this.#pushed.commit()) return false;
    this.#callerIsThere();
    return true;
  }

  clearCallerAudio(): void {
    if (!this.#over && !this.#detection.listen) this.#pushed.clear();
  }

  setVoice(voice: string): void {
    const makers = this.#deps.withVoice?.(voice);
    if (makers && !this.#over) this.#voices.use(makers);
  }

  setWritten(only: boolean): void {
    this.#written = only;
  }

  setTurnDetection(options: { respond: boolean; interrupt: boolean; listen: boolean }): void {
    if (options.listen !== this.#detection.listen) {
      this.#detector.take();
      this.#discardPrepared();
      this.#forgetVoice();
      if (this.#playout.held) this.#resume();
      this.#pushed.reset();
    }
    this.#detection = options;
  }

  #onPushed({ text, confidence, language, thenRespond }: PushedUtterance): void {
    if (this.#over) return;
    const key =
      text === '' ? undefined : this.#commitCaller({ text, confidence, endMs: undefined, language });
    this.#deps.observer?.onCallerTurn?.({ key, text, audioEndMs: this.#voice.audioMs });
    if (thenRespond) this.respond(thenRespond);
  }

  // ---- the end ----

  /** Ends when what is being said was heard; a message is said first. The first reason holds. */
  #endAfterSpeech(reason: CallEndReason, message: string | undefined): void {
    if (this.#over || this.#farewell) return;
    this.#farewell = { reason, since: this.#deps.clock.monotonic() };
    this.#discardPrepared();
    if (this.#current) {
      this.#current.interruptible = false;
      if (this.#playout.held) this.#playout.resume();
      // The model said goodbye itself, or is about to: another goodbye on top would be one too many.
      if (
        this.#playout.audible ||
        this.#current.reply.parts.some((part) => part.type === 'speech') ||
        message === undefined
      )
        return;
    }
    if (message !== undefined) this.#speak(message, 'goodbye', false);
    else if (!this.#current) queueMicrotask(() => this.end(reason));
  }

  end(reason: CallEndReason): void {
    this.#end(reason, true);
  }

  #end(reason: CallEndReason, hangUp: boolean): void {
    if (this.#over) return;
    // Close like an interruption: what was heard, and what the caller was saying, is kept.
    this.#cancelCurrent();
    this.#commitOpenTurn();
    this.#over = true;
    this.#removeTick();
    this.#rejoinTimer?.cancel();
    this.#pushed.reset();
    this.#dtmf.close();
    this.#carrier.close();
    const endedAt = this.#deps.clock.now();
    const { participant } = this.#deps;
    if (hangUp && participant.kind === 'phone') {
      this.#carrier.tell('hangup', {});
    }
    participant.close(
      reason.hangup_reason === 'shutdown' ? closeCodes.goingAway : closeCodes.done,
      reason.hangup_reason ?? reason.failure_reason ?? 'ended',
    );
    this.#abort.abort(new Error('The call is over.'));
    void this.#finalise(reason, endedAt);
  }

  async #finalise(reason: CallEndReason, endedAt: number): Promise<void> {
    const { recorder, reporter, plan, logger } = this.#deps;
    const disposals = await Promise.allSettled([
      this.#stt?.[Symbol.asyncDispose](),
      this.#voices[Symbol.asyncDispose](),
    ]);
    for (const result of disposals)
      if (result.status === 'rejected')
        logger.error({ err: result.reason as unknown }, 'a provider did not close');
    let recording: RecordingResult | undefined;
    if (plan.record.enabled) {
      recording = await recorder.finish(endedAt - this.#deps.answeredAt).catch((): RecordingResult => ({
        recording_id: plan.record.recording_id,
        status: 'failed',
        error: 'internal',
      }));
      this.#emit('recording', recording);
    }
    const report = this.#log.report({
      answeredAt: this.#deps.answeredAt,
      endedAt,
      reason,
      agentTalkMs: this.#playout.talkedMs,
      transferMs: this.#transferMs,
      variables: this.#variables,
      language: plan.agent.config.language.primary,
      recording,
    });
    await reporter
      .end(report)
      .then(() => {
        if (recording && recording.status !== 'recording') recorder.settled();
      })
      .catch((error: unknown) => logger.error({ err: error }, 'the report could not be written'));
    this.#resolveEnded(report);
  }

  #saveProgress(): void {
    // Without an end of its own: should the process die, what was said until here is known.
    this.#deps.reporter.saveProgress(
      this.#log.report({
        answeredAt: this.#deps.answeredAt,
        endedAt: this.#deps.clock.now(),
        reason: { ended_by: 'system', failure_reason: 'internal' },
        agentTalkMs: this.#playout.talkedMs,
        transferMs: this.#transferMs,
        variables: this.#variables,
        language: this.#deps.plan.agent.config.language.primary,
        recording: undefined,
      }),
    );
  }

  // ---- small things ----

  /** Milliseconds since the answer. */
  #offset(): number {
    return this.#at(this.#deps.clock.monotonic());
  }

  #at(monotonicMs: number): number {
    return Number.isFinite(monotonicMs) ? Math.max(0, Math.round(monotonicMs - this.#zero)) : 0;
  }

  #emit<T extends ReportedType>(type: T, data: CallEventData<T>): void {
    this.#deps.reporter.emit(type, data, this.#offset());
  }

  #warn(code: string, error: unknown): void {
    const about = error instanceof ProviderError ? { provider: error.provider, fault: error.fault } : {};
    this.#emit('warning', { code, ...about });
    this.#deps.logger.warn({ code, err: error }, 'a provider had trouble');
  }
}

/** Text of a reply for the observer: kept until the reply is one that counts. */
class ToldText {
  readonly #observer: CallDeps['observer'];
  #id: number | undefined;
  #waiting = '';

  constructor(observer: CallDeps['observer']) {
    this.#observer = observer;
  }

  add(delta: string): void {
    if (this.#id === undefined) this.#waiting += delta;
    else this.#observer?.onReplyText?.({ id: this.#id, delta });
  }

  begin(id: number): void {
    this.#id = id;
    if (this.#waiting !== '') this.#observer?.onReplyText?.({ id, delta: this.#waiting });
    this.#waiting = '';
  }
}
