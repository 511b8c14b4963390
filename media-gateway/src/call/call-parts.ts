import type { PlanAsset } from '@parley/shared/contracts/audio-assets';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { Emit } from '../reporting/call-reporter.ts';
import { builtInSentences } from '../speech/built-in-sentences.ts';
import { AgentSpeech } from '../speech/agent-speech.ts';
import { CallerHearing } from '../hearing/caller-hearing.ts';
import { Playout } from '../speech/playout.ts';
import { replyMaker } from '../speech/reply-maker.ts';
import { CallVoices } from '../speech/speaker.ts';
import { WaitingTexts } from './waiting-texts.ts';
import { CallerTurns, type CallerWords } from '../turns/caller-turns.ts';
import { AgentBackchannels } from './agent-backchannels.ts';
import { AgentTools } from './agent-tools.ts';
import { CallAnswering } from './call-answering.ts';
import { AgentKeys } from './agent-keys.ts';
import { destinationsOf } from './built-in-tools.ts';
import { AGENT_ENDS } from './end-reason.ts';
import { wireFlow, type FlowParts } from './flow-parts.ts';
import { CallerMessage } from './caller-message.ts';
import { CallerKeys } from './caller-keys.ts';
import { CallClock } from './call-clock.ts';
import { CallCommands, refusal } from './call-commands.ts';
import { TurnLog } from './turn-log.ts';
import { PhaseOfCall } from './call-phase.ts';
import { BackgroundAudio } from './background-audio.ts';
import { wireChanges, type CallChanges } from './call-changes.ts';
import { CallLanguages } from './call-languages.ts';
import { CallKnowledge } from './call-knowledge.ts';
import { CallReport } from './call-report.ts';
import { CallTiming } from './call-timing.ts';
import { CallTools, type CallControls } from './call-tools.ts';
import type { CallDeps } from './call.ts';
import { CarrierRequests } from './carrier-requests.ts';
import { ConsultTalk } from './consult-talk.ts';
import { CostMeter } from './cost-meter.ts';
import { Failures } from './failures.ts';
import { Goodbye } from './goodbye.ts';
import { Greeting } from './greeting.ts';
import { Guardrails } from './guardrails.ts';
import { LiveWords } from './live-words.ts';
import { MediaClock } from './media-clock.ts';
import { PromptTexts } from './prompt.ts';
import { RecordingConsent } from './recording-consent.ts';
import { StalledCall } from './stalled-call.ts';
import { Steering } from './steering.ts';
import { Transcript } from './transcript.ts';
import { wireTransfers, type TransferParts } from './transfer-parts.ts';
import { TrustedVariables } from './trusted-variables.ts';
import { VariableChanges } from './variable-changes.ts';
import { Watchdog } from './watchdog.ts';

/** What its parts need of a call, and tell it. */
export interface CallOwner {
  readonly phase: PhaseOfCall;
  readonly clock: CallClock;
  readonly variables: Record<string, string>;
  /** Aborts when the call is over. */
  readonly signal: AbortSignal;
  readonly emit: Emit;
  readonly end: (reason: CallEndReason) => void;
  onCallerTurn(words: CallerWords): void;
  /** All of an utterance was heard. */
  onHeard(text: string): void;
  /** The carrier has taken the caller away, to connect them with somebody else. */
  onTaken(): void;
  /** The caller talks to whom the call was transferred to. */
  onBridged(): void;
  /** The caller left during a transfer. */
  onLost(): void;
  /** The transfer failed, and the carrier brings the caller back on another connection. */
  onReturns(): void;
}

/** What a call is made of. */
export type CallParts = ReturnType<typeof wireCall>;

/** Makes the parts of one call, each from those it works with: what each has in its hands is read here. Starts nothing. */
export function wireCall(deps: CallDeps, owner: CallOwner) {
  const { phase, clock, variables, emit, end } = owner;
  const { farEnd, time } = deps;
  const { reporter, recorder, redaction } = deps.records;
  const { participant, observer } = farEnd;
  // The call's own: another agent that takes over takes its part of them.
  const plan: SessionPlan = { ...deps.plan };
  const providers = { ...deps.providers };
  const languages: CallLanguages = new CallLanguages({
    plan,
    variables,
    detect: deps.resources.languages.detect,
    emit,
    onChanged: (change) => changeLanguage(change),
  });
  if (languages.begin()) Object.assign(providers, providers.inLanguage?.(plan));
  const { config } = plan.agent;
  const media = new MediaClock(clock, participant.steadyAudio);
  const trusted = new TrustedVariables(variables, plan.trusted_variables);
  const changes = new VariableChanges(variables, trusted);
  const log = new TurnLog(reporter, plan.history, changes);
  const transcript = new Transcript({
    log,
    clock,
    plan,
    observer,
    nodeId: () => flow.place?.node_id,
    redaction,
    onTurn: () => {
      report.saveProgress();
      cost.count();
    },
    talk: {
      agentSaid: (parts, heard) => tools.confirmations.agentSaid(parts, heard),
      callerSaid: (text, language) => tools.confirmations.callerSaid(text, language),
    },
  });
  const prompt: PromptTexts = new PromptTexts({
    ...{ plan, variables },
    now: () => clock.now(),
    callSeconds: () => clock.offset() / 1000,
    counts: () => ({
      nodeTurns: flow.place?.turns ?? 0,
      totalTurns: log.callerTurns,
      silences: timing.unanswered,
    }),
    onMissing: (name) => emit('warning', { code: 'missing_variable', name }),
  });
  const llms = providers.llm.map((make) => make());
  const voices = new CallVoices(providers.tts, providers.lastVoice);
  const hearing = new CallerHearing({
    format: participant.inputFormat,
    threshold: config.turn_taking.vad_threshold,
    model: providers.voiceModel,
    noise: deps.resources.noise,
  });
  const playout = new Playout({
    participant,
    clock: time.clock,
    recorder,
    answeredAtMonotonic: clock.zero,
    echo: hearing,
  });
  const carrier = new CarrierRequests({
    clock: time.clock,
    send: (request) => emit('carrier_command', request),
  });
  const knowledge = new CallKnowledge({
    plan,
    source: deps.resources.knowledge,
    clock: time.clock,
    emit,
    took: (ms) => log.addSample('knowledge_ms', ms),
  });
  const controls: CallControls = {
    endAfterSpeech: (message) => {
      const refused = refusal(phase.on('end_by_agent'));
      if (refused === undefined) goodbye.say(AGENT_ENDS, message);
      return refused;
    },
    transferAfterSpeech: (destination, onFailed) => bringTo(destination, { onFailed }),
    apology: (destination) => prompt.render(destination?.failure_message ?? '') || failures.apology,
    sendDtmf: (digits) => agentKeys.press(digits),
    setLanguage: (tag) => languages.change(tag, 'tool'),
    searchKnowledge: (query) => knowledge.answer(query, owner.signal),
    emitTool: (type, data) => emit(type, data),
    toolTook: (ms) => log.addSample('tool_ms', ms),
  };
  const agentTools = new AgentTools({
    ...{ plan, variables, trusted, signal: owner.signal },
    runner: deps.resources.tools,
  });
  const tools = new CallTools({
    ...{ plan, participant, controls, clock: time.clock },
    agent: agentTools,
    client: farEnd.clientTools,
  });
  const guardrails = new Guardrails({
    ...{ plan, llms, prompt, transcript, emit },
    ...{ clock: time.clock, usage: log.usage },
  });
  const speech = new AgentSpeech({
    makeReply: replyMaker({
      plan,
      llms,
      voices,
      playout,
      tools,
      knowledge,
      clock: time.clock,
      usage: log.usage,
      guard: () => guardrails.guard,
      onTrouble: (code, error) => failures.trouble(code, error),
    }),
    playout,
    tools,
    transcript,
    systemPrompt: () => prompt.systemPrompt(),
    clock: time.clock,
    observer,
    events: {
      mayThink: () => !plan.consult && phase.on('answer_due') === 'think',
      mayThinkAhead: () => flow.mayThinkAhead,
      onHeard: (text) => owner.onHeard(text),
      onError: (failure) => failures.replyBreaksOff(failure),
      onFailed: (failure, repeated) => {
        if (failure.reason !== 'llm_error' || !dialogue.failed()) failures.replyFailed(failure, repeated);
      },
      onInterrupted: (turnIndex, heardMs) =>
        emit('interruption', { turn_index: turnIndex, heard_ms: heardMs }),
    },
  });
  const turns = new CallerTurns({
    plan,
    providers: providers.stt,
    format: participant.inputFormat,
    clock: time.clock,
    placeOf: (arrivedAt) => media.placeOf(arrivedAt),
    hearing,
    floor: speech,
    events: {
      attention: () => (answering?.coversWords ? 'ignore' : phase.on('caller_words')),
      expectsAnswer: () => playout.expectsAnswer,
      onSign: () => timing.onSound(),
      onVoice: (now, audioMs) => {
        const delay = speech.takeCallerDelay(now);
        if (delay !== undefined) log.addSample('caller_reply_ms', delay);
        observer?.onSpeechStarted?.(audioMs);
      },
      onVoiceForgotten: (audioMs) => observer?.onSpeechForgotten?.(audioMs),
      onInterim: (transcript) => {
        observer?.onInterim?.(transcript);
        answering?.words(transcript.text, false);
      },
      onTurn: (words) => owner.onCallerTurn(words),
      onBackchannel: (words) => {
        transcript.backchannel(words);
        answering?.words(words.text, true);
      },
      onPushed: (words, thenRespond) => {
        if (phase.on('client_input') !== 'take') return;
        transcript.callerTurn(words);
        if (thenRespond) steering.respond(thenRespond);
      },
      onDecision: (decision) => emit('turn_decision', decision),
      onTrouble: (error) => failures.trouble('stt_trouble', error),
      onRecognitionLost: (error) => {
        emit('error', { code: 'stt_error', fault: error.fault });
        failures.recognitionLost();
      },
    },
  });
  const agentKeys = new AgentKeys({
    participant,
    phase,
    carrier,
    speech,
    emit,
  });
  const keys = new CallerKeys({
    config: config.dtmf,
    clock: time.clock,
    phase,
    speech,
    transcript,
    emit,
    onSign: () => timing.onSign(),
    onAnswer: (digits) => dialogue.keys(digits),
  });
  const texts = new WaitingTexts({
    phase,
    speech,
    turns,
    tools,
    mustListen: () => (answering?.listening ?? false) || flow.isDeciding,
  });
  const backchannels = new AgentBackchannels({
    ...{ plan, phase, clock: time.clock, signal: owner.signal },
    call: { participant, voices, playout, hearing, turns, speech, transcript, log },
    mustListen: () => consent.underWay || (answering?.listening ?? false),
  });
  const callerMessage = new CallerMessage({
    phase,
    clock,
    speech,
    hearing,
    transcript,
    variables,
    emit,
    end,
  });
  const goodbye = new Goodbye({ phase, speech, clock, end });
  const cost = new CostMeter({
    prices: plan.prices,
    usage: log.usage,
    clock,
    emit,
    onCeiling: () => {
      const { message } = plan.agent.config.end_call;
      if (phase.on('limit_reached') === 'say_goodbye')
        goodbye.say({ ended_by: 'system', hangup_reason: 'budget' }, message === '' ? undefined : message);
    },
  });
  const failures = new Failures({
    phase,
    speech,
    goodbye,
    sentences: () => builtInSentences(plan.agent.config.language.primary),
    voices,
    emit,
    logger: deps.logger,
    end,
  });
  const { consultation, blind, transfer, bringTo, handOver, returned }: TransferParts = wireTransfers({
    ...{ plan, prompt, trusted, clock, phase, emit, carrier, llms, speech, tools, transcript, log },
    ...{ media, goodbye, callerMessage, failures, owner, timers: time.clock },
    agents: deps.resources.agents,
    guard: () => guardrails.guard,
    hold: (assetId) => background.hold(assetId),
    onAgentChanged: (next, passed) => takeOver(next, passed),
  });
  const timing: CallTiming = new CallTiming({
    plan,
    prompt,
    clock,
    phase,
    media,
    speech,
    turns,
    events: {
      onTimeToEnd: (reason, message) => goodbye.say(reason, message),
      onEndIsNear: (text) => texts.addUrgent(text),
      onUnanswered: (count) => dialogue.unanswered(count),
      isWaiting: () => flow.isWaiting,
      onAudioMissing: () => end({ ended_by: 'system', failure_reason: 'media_timeout' }),
    },
  });
  const loadAudio = (id: string, asset: PlanAsset) =>
    deps.resources.audio.load(id, asset, participant.outputFormat.sampleRate);
  const background = new BackgroundAudio({ plan, participant, bed: playout.bed, loadAudio, emit });
  const greeting = new Greeting({
    plan,
    prompt,
    clock,
    phase,
    speech,
    loadAudio,
    callerWasHeard: () => timing.callerWasHeard,
    emit,
  });
  const consent = new RecordingConsent({ plan, prompt, clock, phase, speech, transcript, recorder, emit });
  const { node, flow, dialogue }: FlowParts = wireFlow({
    ...{ plan, variables, trusted, changes, phase, emit, participant, providers, llms, voices },
    ...{ transfers: { bringTo, handOver }, background, loadAudio },
    ...{ agentTools, tools, prompt, turns, speech, transcript, log },
    ...{ greeting, consent, goodbye, failures, clock: time.clock, signal: owner.signal },
    settingsChanged: () => {
      prompt.agentChanged();
      timing.nodeChanged();
      watchdog.agentChanged(plan);
    },
  });
  const consult = plan.consult
    ? new ConsultTalk({
        ...{ consult: plan.consult, language: config.language.primary, clock, phase, carrier },
        call: {
          ...{ speech, turns, keys: agentKeys, hearing, end },
          onBridged: () => owner.onBridged(),
          onLost: () => owner.onLost(),
        },
      })
    : undefined;
  const answering: CallAnswering | undefined = plan.answer_detection
    ? new CallAnswering({
        plan,
        format: participant.inputFormat,
        prompt,
        clock,
        hearing,
        emit,
        call: {
          ...{ speech, turns, transcript, goodbye, end },
          dialogue: consult ?? dialogue,
          greeting: consult ?? greeting,
        },
      })
    : undefined;
  const call = new StalledCall({
    phase,
    speech,
    turns,
    tools,
    dialogue,
    timing,
    carrier: {
      giveUp() {
        carrier.giveUp();
        consultation.giveUp();
        blind.giveUp();
      },
    },
    failures,
  });
  const watchdog = new Watchdog({ plan, emit, call });
  const liveWords = new LiveWords({ clock, emit });
  const commands = new CallCommands({
    destinations: () => destinationsOf({ plan, participant }),
    phase,
    variables,
    prompt,
    transcript,
    carrier,
    texts,
    call: {
      end,
      event: (name) => dialogue.event(name),
      watch: (until) => liveWords.watch(until),
      consultResult: (result) => consultation.onResult(result),
      transferResult: (result) => blind.onResult(result),
      carrierVerdict: (verdict) => answering?.carrierVerdict(verdict),
      endWith: (reason, message) => goodbye.sayAtOnce(reason, message),
      transfer: (destination) => {
        const refused = refusal(phase.answerTo('transfer'));
        if (refused === undefined) speech.cancel();
        return refused ?? bringTo(destination);
      },
    },
  });
  const steering = new Steering({
    phase,
    transcript,
    speech,
    turns,
    tools,
    voices,
    providers,
    call: { end, onSign: () => timing.onSign(), respond: (options) => dialogue.respond(options) },
  });
  const report = new CallReport({
    plan,
    reporter,
    recorder,
    log,
    clock,
    variables,
    figures: () => ({ agentTalkMs: playout.ledger.talkedMs, transferMs: transfer.ringingMs }),
    logger: deps.logger,
  });
  const { changeLanguage, takeOver }: CallChanges = wireChanges({
    ...{
      plan,
      variables,
      providers,
      llms,
      voices,
      languages,
      redaction,
      speech,
      agentTools,
      prompt,
      log,
      cost,
      knowledge,
    },
    ...{ keys, timing, background, watchdog, turns, transcript, report, node, dialogue },
    signal: owner.signal,
  });
  return {
    ...{
      plan,
      media,
      log,
      transcript,
      llms,
      voices,
      playout,
      carrier,
      speech,
      knowledge,
      turns,
      keys,
      liveWords,
      texts,
    },
    ...{
      tools,
      goodbye,
      greeting,
      background,
      languages,
      answering,
      flow,
      dialogue,
      consent,
      callerMessage,
      backchannels,
    },
    ...{ consult, consultation, blind, cost, failures, timing, watchdog, commands, report, steering },
    /** The caller is back from the carrier, which could not connect them. */
    returned: (id: string) => returned(id, flow.isLeading ? { onReturned: () => flow.returned() } : {}),
  };
}
