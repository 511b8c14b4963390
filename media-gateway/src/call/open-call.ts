import { bytesPerMs } from '@parley/shared/audio/audio-frame';
import type { CallReport as Report } from '@parley/shared/contracts/call-events';
import type { GatewayCommand } from '@parley/shared/contracts/commands';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { Timer } from '@parley/shared/time/clock';
import type { Gone, ParticipantListener } from '../participants/participant.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import { builtInSentences } from '../speech/built-in-sentences.ts';
import { AgentSpeech } from '../speech/agent-speech.ts';
import { CallerHearing } from '../hearing/caller-hearing.ts';
import { Playout } from '../speech/playout.ts';
import { replyMaker } from '../speech/reply-maker.ts';
import { CallVoices } from '../speech/speaker.ts';
import { WaitingTexts } from './waiting-texts.ts';
import { CallerTurns, type CallerWords } from '../turns/caller-turns.ts';
import { AgentKeys } from './agent-keys.ts';
import { CallerKeys } from './caller-keys.ts';
import { CallClock } from './call-clock.ts';
import { CallCommands, refusal } from './call-commands.ts';
import { TurnLog } from './turn-log.ts';
import { PhaseOfCall } from './call-phase.ts';
import { CallReport } from './call-report.ts';
import { CallTiming } from './call-timing.ts';
import { CallTools, type CallControls, type TransferDestination } from './call-tools.ts';
import type { Call, CallDeps, CallSteering } from './call.ts';
import { CarrierRequests } from './carrier-requests.ts';
import { reasonOf } from './end-reason.ts';
import { Failures } from './failures.ts';
import { Goodbye } from './goodbye.ts';
import { MediaClock } from './media-clock.ts';
import { PromptTexts } from './prompt.ts';
import { StalledCall } from './stalled-call.ts';
import { Steering } from './steering.ts';
import { Transcript } from './transcript.ts';
import { Transfer } from './transfer.ts';
import { Watchdog } from './watchdog.ts';

/** How long a call waits for a far end that lost its connection to rejoin. */
const REJOIN_GRACE_MS = 15_000;

/**
 * Begins the conversation that a plan describes with a participant who is there.
 * The call disposes of what was made for it alone: providers, recorder, participant.
 */
export function openCall(deps: CallDeps): Call {
  const call = new LiveCall(deps);
  call.start();
  return call;
}

/** Wires the parts of a call, owns them, and ends once. */
class LiveCall implements Call, ParticipantListener {
  readonly sessionId: string;
  readonly steering: CallSteering;
  readonly #deps: CallDeps;
  readonly #phase = new PhaseOfCall();
  readonly #abort = new AbortController();
  readonly #over = Promise.withResolvers<Report>();
  readonly #variables: Record<string, string>;
  readonly #inputBytesPerMs: number;
  readonly #clock: CallClock;
  readonly #media: MediaClock;
  readonly #log: TurnLog;
  readonly #transcript: Transcript;
  readonly #prompt: PromptTexts;
  readonly #llms: ReturnType<CallDeps['providers']['llm'][number]>[];
  readonly #voices: CallVoices;
  readonly #playout: Playout;
  readonly #carrier: CarrierRequests;
  readonly #tools: CallTools;
  readonly #speech: AgentSpeech;
  readonly #turns: CallerTurns;
  readonly #keys: CallerKeys;
  readonly #agentKeys: AgentKeys;
  readonly #texts: WaitingTexts;
  readonly #goodbye: Goodbye;
  readonly #failures: Failures;
  readonly #transfer: Transfer;
  readonly #timing: CallTiming;
  readonly #watchdog: Watchdog;
  readonly #commands: CallCommands;
  readonly #report: CallReport;

  #removeTick: (() => void) | undefined;
  #rejoinTimer: Timer | undefined;
  /** How the caller's connection ended during a transfer. */
  #gone: Gone | undefined;

  /** Wires the parts; starts nothing. */
  constructor(deps: CallDeps) {
    const { plan, farEnd, providers, reporter, recorder, time } = deps;
    const { participant, observer } = farEnd;
    const { config } = plan.agent;
    const clock = (this.#clock = new CallClock(time.clock, time.answeredAt));
    const phase = this.#phase;
    const end = (reason: CallEndReason) => this.end(reason);
    const variables = (this.#variables = { ...plan.variables });
    this.#deps = deps;
    this.sessionId = plan.session_id;
    this.#inputBytesPerMs = bytesPerMs(participant.inputFormat);
    this.#media = new MediaClock(clock, participant.steadyAudio);
    this.#log = new TurnLog(reporter, plan.history);
    this.#transcript = new Transcript({
      log: this.#log,
      clock,
      history: plan.history,
      observer,
      onTurn: () => this.#report.saveProgress(),
    });
    this.#prompt = new PromptTexts({
      plan,
      variables,
      now: () => clock.now(),
      callSeconds: () => clock.offset() / 1000,
      onMissing: (name) => this.#emit('warning', { code: 'missing_variable', name }),
    });
    this.#llms = providers.llm.map((make) => make());
    this.#voices = new CallVoices(providers.tts, providers.lastVoice);
    const hearing = new CallerHearing({
      format: participant.inputFormat,
      threshold: config.turn_taking.vad_threshold,
      model: providers.voiceModel,
    });
    this.#playout = new Playout({
      participant,
      clock: time.clock,
      recorder,
      answeredAtMonotonic: clock.zero,
      echo: hearing,
    });
    this.#carrier = new CarrierRequests({
      clock: time.clock,
      send: (request) => this.#emit('carrier_command', request),
    });
    this.#tools = new CallTools({
      plan,
      participant,
      runner: deps.tools,
      client: farEnd.clientTools,
      variables,
      controls: this.#controls(),
      clock: time.clock,
      signal: this.#abort.signal,
    });
    this.#speech = new AgentSpeech({
      makeReply: replyMaker({
        plan,
        llms: this.#llms,
        voices: this.#voices,
        playout: this.#playout,
        tools: this.#tools,
        clock: time.clock,
        usage: this.#log.usage,
        onTrouble: (code, error) => this.#failures.trouble(code, error),
      }),
      playout: this.#playout,
      tools: this.#tools,
      transcript: this.#transcript,
      systemPrompt: () => this.#prompt.systemPrompt(),
      clock: time.clock,
      observer,
      events: {
        mayThink: () => phase.on('answer_due') === 'think',
        onHeard: (text) => this.#onHeard(text),
        onError: (failure) => this.#failures.replyBreaksOff(failure),
        onFailed: (failure, repeated) => this.#failures.replyFailed(failure, repeated),
        onInterrupted: (turnIndex, heardMs) =>
          this.#emit('interruption', { turn_index: turnIndex, heard_ms: heardMs }),
      },
    });
    this.#turns = new CallerTurns({
      plan,
      providers: providers.stt,
      format: participant.inputFormat,
      clock: time.clock,
      answeredAt: clock.zero,
      hearing,
      floor: this.#speech,
      events: {
        attention: () => phase.on('caller_words'),
        expectsAnswer: () => this.#playout.expectsAnswer,
        onSign: () => this.#timing.onSound(),
        onVoice: (now, audioMs) => {
          const delay = this.#speech.takeCallerDelay(now);
          if (delay !== undefined) this.#log.addSample('caller_reply_ms', delay);
          observer?.onSpeechStarted?.(audioMs);
        },
        onVoiceForgotten: (audioMs) => observer?.onSpeechForgotten?.(audioMs),
        onInterim: (transcript) => observer?.onInterim?.(transcript),
        onTurn: (words) => this.#onCallerTurn(words),
        onBackchannel: (words) => this.#transcript.backchannel(words),
        onPushed: (words, thenRespond) => {
          if (phase.on('client_input') !== 'take') return;
          this.#transcript.callerTurn(words);
          if (thenRespond) this.steering.respond(thenRespond);
        },
        onDecision: (decision) => this.#emit('turn_decision', decision),
        onTrouble: (error) => this.#failures.trouble('stt_trouble', error),
        onRecognitionLost: (error) => {
          this.#emit('error', { code: 'stt_error', fault: error.fault });
          this.#failures.recognitionLost();
        },
      },
    });
    this.#agentKeys = new AgentKeys({
      participant,
      phase,
      carrier: this.#carrier,
      speech: this.#speech,
      emit: this.#emit,
    });
    this.#keys = new CallerKeys({
      config: config.dtmf,
      clock: time.clock,
      phase,
      speech: this.#speech,
      transcript: this.#transcript,
      emit: this.#emit,
      onSign: () => this.#timing.onSign(),
    });
    this.#texts = new WaitingTexts({ phase, speech: this.#speech, turns: this.#turns });
    this.#goodbye = new Goodbye({ phase, speech: this.#speech, clock, end });
    this.#failures = new Failures({
      phase,
      speech: this.#speech,
      goodbye: this.#goodbye,
      sentences: builtInSentences(config.language.primary),
      voices: this.#voices,
      emit: this.#emit,
      logger: deps.logger,
      end,
    });
    this.#transfer = new Transfer({
      plan,
      prompt: this.#prompt,
      variables,
      clock,
      carrier: this.#carrier,
      phase,
      emit: this.#emit,
      events: {
        onBridged: () => this.#end({ ended_by: 'agent', hangup_reason: 'transferred' }, { hangUp: false }),
        onLost: () => this.#end(reasonOf(this.#gone!), { hangUp: false }),
        onReturned: (note, message) => {
          this.#media.touch();
          this.#transcript.note(note);
          if (message === undefined) this.#speech.answer();
          else this.#speech.say(message, 'say', { interruptible: true });
        },
        onGivenUp: (reason, note, message) => {
          this.#transcript.note(note);
          this.#goodbye.say(reason, message);
        },
      },
    });
    this.#timing = new CallTiming({
      plan,
      prompt: this.#prompt,
      clock,
      phase,
      media: this.#media,
      speech: this.#speech,
      turns: this.#turns,
      events: {
        onTimeToEnd: (reason, message) => this.#goodbye.say(reason, message),
        onAudioMissing: () => this.end({ ended_by: 'system', failure_reason: 'media_timeout' }),
      },
    });
    const call = new StalledCall({
      phase,
      speech: this.#speech,
      turns: this.#turns,
      tools: this.#tools,
      transcript: this.#transcript,
      timing: this.#timing,
      carrier: this.#carrier,
      failures: this.#failures,
    });
    this.#watchdog = new Watchdog({ plan, emit: this.#emit, call });
    this.#commands = new CallCommands({
      destinations: participant.carrierCommands ? config.transfer.destinations : [],
      phase,
      variables,
      prompt: this.#prompt,
      transcript: this.#transcript,
      carrier: this.#carrier,
      texts: this.#texts,
      call: {
        end,
        endWith: (reason, message) => this.#goodbye.sayAtOnce(reason, message),
        transfer: (destination) => {
          const refused = refusal(phase.answerTo('transfer'));
          if (refused === undefined) this.#speech.cancel();
          return refused ?? this.#handOver(destination);
        },
      },
    });
    this.steering = new Steering({
      phase,
      transcript: this.#transcript,
      speech: this.#speech,
      turns: this.#turns,
      tools: this.#tools,
      voices: this.#voices,
      providers,
      call: { end, onSign: () => this.#timing.onSign() },
    });
    this.#report = new CallReport({
      plan,
      reporter,
      recorder,
      log: this.#log,
      clock,
      variables,
      figures: () => ({ agentTalkMs: this.#playout.ledger.talkedMs, transferMs: this.#transfer.ringingMs }),
      logger: deps.logger,
    });
  }

  get ended(): Promise<Report> {
    return this.#over.promise;
  }

  start(): void {
    const { plan, farEnd, time } = this.#deps;
    const { encoding, sampleRate } = farEnd.participant.inputFormat;
    this.#emit('call_started', {
      answered_at: new Date(time.answeredAt).toISOString(),
      encoding,
      sample_rate: sampleRate,
      emulated: emulatedProviders(plan),
    });
    if (plan.record.enabled)
      this.#emit('recording', { recording_id: plan.record.recording_id, status: 'recording' });
    this.#speech.setTextOnly(farEnd.textOnly ?? false);
    if (!plan.text_only) {
      this.#turns.open();
      this.#voices.current.warm();
    }
    for (const llm of this.#llms) llm.warm();
    this.#removeTick = time.ticker.add((now) => this.#onTick(now));
    farEnd.participant.attach(this);
    if (plan.leg === 0) this.#timing.greet();
  }

  command(command: GatewayCommand): string | undefined {
    return this.#commands.run(command);
  }

  // ---- the far end ----

  onAudio(bytes: Uint8Array, timestampMs: number | undefined): void {
    if (this.#phase.on('caller_audio') !== 'hear') return;
    const now = this.#clock.monotonic();
    const durationMs = bytes.length / this.#inputBytesPerMs;
    this.#deps.recorder.caller(bytes, this.#media.place(timestampMs, now, durationMs));
    this.#log.usage.stt_seconds += durationMs / 1000;
    this.#turns.audio(bytes, durationMs, now);
  }

  onMark(name: string): void {
    this.#media.touch();
    this.#playout.onMark(name);
  }

  onDtmf(digit: string): void {
    this.#keys.press(digit);
  }

  onGone(gone: Gone): void {
    const answer = this.#phase.on(gone.by === 'caller' && gone.lost ? 'far_end_lost' : 'far_end_left');
    if (answer === 'end') this.#end(reasonOf(gone), { hangUp: false });
    else if (answer === 'wait_for_carrier') this.#gone = gone;
    else if (answer === 'wait_for_return') {
      // As at an interruption: the next leg must know what was said until now.
      this.#closeConversation();
      this.#rejoinTimer = this.#clock.setTimeout(() => {
        if (this.#phase.on('return_overdue') === 'end') this.#end(reasonOf(gone), { hangUp: false });
      }, REJOIN_GRACE_MS);
    }
  }

  // ---- the conversation ----

  #onTick(now: number): void {
    this.#watchdog.tick(now);
    if (this.#phase.phase === 'away') return;
    this.#playout.pump();
    this.#turns.tick(now);
    this.#timing.tick(now);
    if (this.#turns.deaf) this.#failures.recognitionLost();
    this.#goodbye.tick(now);
    this.#texts.sayNext();
    this.#report.saveUnderWay(now, this.#underWay);
  }

  readonly #underWay = () => ({
    agentTurn: this.#speech.current?.turnIndex,
    heard: this.#playout.textUntil(this.#playout.heardMs),
    caller: this.#turns.openText,
  });

  #onCallerTurn(words: CallerWords): void {
    this.#speech.cancel({ keepPrepared: true });
    this.#transcript.callerTurn(words);
    if (this.#turns.answered) this.#speech.answerTurn(words.endedAt);
    else this.#speech.discardPrepared();
  }

  /** All of an utterance was heard. */
  #onHeard(text: string): void {
    const answer = this.#phase.on('reply_heard');
    if (answer === 'end') this.#goodbye.finish();
    if (answer !== 'go_on') return;
    const said = text.toLowerCase();
    const { phrases } = this.#deps.plan.agent.config.end_call;
    if (phrases.some((phrase) => said.includes(phrase.toLowerCase())))
      this.end({ ended_by: 'agent', hangup_reason: 'agent_hangup' });
    else this.#texts.sayNext();
  }

  #controls(): CallControls {
    return {
      endAfterSpeech: (message) => {
        const refused = refusal(this.#phase.on('end_by_agent'));
        if (refused === undefined)
          this.#goodbye.say({ ended_by: 'agent', hangup_reason: 'agent_hangup' }, message);
        return refused;
      },
      transferAfterSpeech: (destination, onFailed) => this.#handOver(destination, onFailed),
      apology: (destination) =>
        this.#prompt.render(destination?.failure_message ?? '') || this.#failures.apology,
      sendDtmf: (digits) => this.#agentKeys.press(digits),
      emitTool: (type, data) => this.#emit(type, data),
      toolTook: (ms) => this.#log.addSample('tool_ms', ms),
    };
  }

  /** Transfers the caller. @returns the code word of the refusal, if refused */
  #handOver(destination: TransferDestination, onFailed?: (code: string) => void): string | undefined {
    const refused = refusal(this.#phase.on('transfer'));
    if (refused === undefined) void this.#transfer.run(destination, this.#speech, onFailed);
    return refused;
  }

  // ---- the end ----

  end(reason: CallEndReason): void {
    this.#end(reason, { hangUp: true });
  }

  #end(reason: CallEndReason, { hangUp }: { hangUp: boolean }): void {
    if (this.#phase.on('ended') !== 'close') return;
    const { participant } = this.#deps.farEnd;
    // As at an interruption: what was heard, and what the caller was saying, is kept.
    this.#closeConversation();
    this.#removeTick?.();
    this.#rejoinTimer?.cancel();
    this.#timing.stop();
    this.#keys.close();
    this.#carrier.close();
    const endedAt = this.#clock.now();
    this.#report.saveEnd(reason, endedAt);
    if (hangUp && participant.carrierCommands) this.#carrier.notify('hangup', {});
    participant.end(
      reason.hangup_reason === 'shutdown' ? 'shutdown' : 'over',
      reason.hangup_reason ?? reason.failure_reason ?? 'ended',
    );
    this.#abort.abort(new Error('The call is over.'));
    void this.#finalise(reason, endedAt);
  }

  /** Stops the agent and writes down what was heard and what the caller was saying. */
  #closeConversation(): void {
    this.#speech.cancel();
    const open = this.#turns.takeOpen();
    if (open) this.#transcript.unfinishedTurn(open);
  }

  async #finalise(reason: CallEndReason, endedAt: number): Promise<void> {
    const disposals = await Promise.allSettled([
      this.#turns[Symbol.asyncDispose](),
      this.#voices[Symbol.asyncDispose](),
    ]);
    for (const result of disposals)
      if (result.status === 'rejected')
        this.#deps.logger.error({ err: result.reason as unknown }, 'a provider could not be closed');
    this.#over.resolve(await this.#report.finish(reason, endedAt));
  }

  readonly #emit: Emit = (type, data) => this.#deps.reporter.emit(type, data, this.#clock.offset());
}

function emulatedProviders(plan: SessionPlan): string[] {
  const emulated = [...plan.stt, ...plan.llm, ...plan.tts].filter((provider) => provider.emulated);
  return [...new Set(emulated.map(({ provider }) => provider))];
}
