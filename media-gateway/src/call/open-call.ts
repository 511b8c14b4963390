import { bytesPerMs } from '@parley/shared/audio/audio-frame';
import type { CallReport as Report } from '@parley/shared/contracts/call-events';
import type { GatewayCommand } from '@parley/shared/contracts/commands';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { Timer } from '@parley/shared/time/clock';
import type { Gone, ParticipantListener } from '../participants/participant.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import { SLOW_TICK_MS, TICK_MS } from '../speech/ticker.ts';
import type { CallerWords } from '../turns/caller-turns.ts';
import { CallClock } from './call-clock.ts';
import { wireCall, type CallParts } from './call-parts.ts';
import { PhaseOfCall } from './call-phase.ts';
import type { Call, CallDeps, CallSteering } from './call.ts';
import { reasonOf } from './end-reason.ts';
import { needsConsent } from './recording-consent.ts';

/** How long a call waits for a far end that lost its connection to rejoin. */
const REJOIN_GRACE_MS = 15_000;
/** How much of what is heard may not be in the usage of the call yet. */
const COUNT_HEARD_MS = 1000;
/** So many ticks are one slow one. */
const SLOW_TICKS = SLOW_TICK_MS / TICK_MS;

/**
 * Begins the conversation that a plan describes with a participant who is there.
 * The call disposes of what was made for it alone: providers, recorder, participant.
 */
export function openCall(deps: CallDeps): Call {
  const call = new LiveCall(deps);
  call.start();
  return call;
}

/** Owns the parts of a call, has them act, and ends once. */
class LiveCall implements Call, ParticipantListener {
  readonly sessionId: string;
  readonly steering: CallSteering;
  readonly #deps: CallDeps;
  readonly #phase = new PhaseOfCall();
  readonly #abort = new AbortController();
  readonly #over = Promise.withResolvers<Report>();
  readonly #inputBytesPerMs: number;
  readonly #clock: CallClock;
  readonly #parts: CallParts;

  #callerTurns = 0;
  #ticksToSlow = SLOW_TICKS;
  #removeTick: (() => void) | undefined;
  #rejoinTimer: Timer | undefined;
  /** How the caller's connection ended during a transfer. */
  #gone: Gone | undefined;

  constructor(deps: CallDeps) {
    const { plan, farEnd, time } = deps;
    this.#deps = deps;
    this.sessionId = plan.session_id;
    this.#inputBytesPerMs = bytesPerMs(farEnd.participant.inputFormat);
    this.#clock = new CallClock(time.clock, time.answeredAt);
    this.#parts = wireCall(deps, {
      phase: this.#phase,
      clock: this.#clock,
      variables: { ...plan.variables },
      signal: this.#abort.signal,
      emit: this.#emit,
      end: (reason) => this.end(reason),
      onCallerTurn: (words) => this.#onCallerTurn(words),
      onHeard: (text) => this.#onHeard(text),
      onTaken: () => this.#letGo(),
      onBridged: () => this.#end({ ended_by: 'agent', hangup_reason: 'transferred' }, { hangUp: false }),
      onLost: () => this.#end(reasonOf(this.#gone!), { hangUp: false }),
      onReturns: () => this.#awaitReturn(this.#gone!),
    });
    this.steering = this.#parts.steering;
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
    this.#parts.languages.tellBegun();
    if (this.#parts.languages.detects) this.#deps.resources.languages.warm();
    if (plan.record.enabled && !needsConsent(plan))
      this.#emit('recording', { recording_id: plan.record.recording_id, status: 'recording' });
    this.#parts.speech.setTextOnly(farEnd.textOnly ?? false);
    if (!plan.text_only) {
      this.#parts.turns.open();
      this.#parts.voices.current.warm();
    }
    for (const llm of this.#parts.llms) llm.warm();
    this.#parts.knowledge.warm(this.#abort.signal);
    this.#parts.background.begin();
    this.#removeTick = time.ticker.add((now) => this.#onTick(now));
    farEnd.participant.attach(this);
    this.#parts.consult?.begin();
    if (this.#parts.answering && plan.leg === 0) this.#parts.answering.begin();
    else if (this.#parts.consult) return;
    else if (plan.leg === 0) this.#parts.dialogue.begin();
    else this.#parts.dialogue.resume();
    if (plan.leg > 0 && plan.returned_from !== null) this.#parts.returned(plan.returned_from);
  }

  command(command: GatewayCommand): string | undefined {
    return this.#parts.commands.run(command);
  }

  // ---- the far end ----

  onAudio(bytes: Uint8Array, timestampMs: number | undefined): void {
    if (this.#phase.on('caller_audio') !== 'hear') return;
    const now = this.#clock.monotonic();
    const durationMs = bytes.length / this.#inputBytesPerMs;
    this.#deps.records.recorder.caller(bytes, this.#parts.media.place(timestampMs, now, durationMs));
    this.#parts.log.heard(this.#parts.turns.stt.model, durationMs);
    this.#parts.turns.audio(bytes, durationMs, now);
    this.#parts.answering?.audio(bytes);
  }

  onMark(name: string): void {
    this.#parts.media.touch();
    this.#parts.playout.onMark(name);
  }

  onDtmf(digit: string): void {
    const { consult, keys } = this.#parts;
    if (consult) consult.key(digit);
    else keys.press(digit);
  }

  onGone(gone: Gone): void {
    // Nobody comes back to whom a caller is to be transferred to.
    const mayReturn = gone.by === 'caller' && gone.lost && !this.#parts.consult;
    const answer = this.#phase.on(mayReturn ? 'far_end_lost' : 'far_end_left');
    if (answer === 'end') this.#end(reasonOf(gone), { hangUp: false });
    else if (answer === 'wait_for_carrier') {
      this.#gone = gone;
      this.#parts.consultation.callerGone();
    } else if (answer === 'wait_for_return') {
      // As at an interruption: the next leg must know what was said until now.
      this.#closeConversation();
      this.#awaitReturn(gone);
    }
  }

  /** The carrier has the caller. Its document begins, where it takes one, when our connection ends. */
  #letGo(): void {
    this.#gone ??= { by: 'caller', lost: false };
    // As at an interruption: the next leg must know what was said until now.
    this.#closeConversation();
    this.#deps.farEnd.participant.end('over', 'transferred');
  }

  /** Another leg goes on with the call, or nobody does. @param gone why it is over then */
  #awaitReturn(gone: Gone): void {
    this.#rejoinTimer = this.#clock.setTimeout(() => {
      if (this.#phase.on('return_overdue') === 'end') this.#end(reasonOf(gone), { hangUp: false });
    }, REJOIN_GRACE_MS);
  }

  // ---- the conversation ----

  #onTick(now: number): void {
    const slow = --this.#ticksToSlow === 0;
    if (slow) {
      this.#ticksToSlow = SLOW_TICKS;
      this.#parts.watchdog.tick(now);
    }
    if (this.#phase.phase === 'away' || this.#phase.phase === 'handed_over') return;
    this.#parts.playout.pump();
    this.#parts.turns.tick(now);
    this.#parts.answering?.tick(now);
    this.#parts.goodbye.tick(now);
    this.#parts.flow.takeWaiting();
    this.#parts.texts.sayNext();
    this.#parts.liveWords.tick(now, this.#underWay);
    if (slow) this.#onSlowTick(now);
  }

  /** What may be a tenth of a second late. */
  #onSlowTick(now: number): void {
    this.#parts.backchannels.tick(now);
    if (this.#parts.turns.stt.lost) this.#parts.failures.recognitionLost();
    this.#parts.callerMessage.tick(now);
    this.#parts.consult?.tick(now);
    this.#parts.log.countHeard(COUNT_HEARD_MS);
    this.#parts.cost.tick(now);
    this.#parts.report.saveUnderWay(now, this.#underWay);
    this.#parts.timing.tick(now);
  }

  readonly #underWay = () => ({
    agentTurn: this.#parts.speech.current?.turnIndex,
    heard: this.#parts.playout.textUntil(this.#parts.playout.heardMs),
    caller: this.#parts.turns.openText,
  });

  #onCallerTurn(words: CallerWords): void {
    const { callerMessage, consult, consent } = this.#parts;
    if (callerMessage.take(words) || consult?.take(words) || consent.take(words)) return;
    this.#parts.speech.cancel({ keepPrepared: true });
    this.#parts.transcript.callerTurn(words);
    this.#parts.answering?.words(words.text, true);
    const turn = ++this.#callerTurns;
    const settled = this.#parts.languages.heard(words.text, words.language);
    if (!settled) this.#answerTurn(words);
    else
      void settled.then(() => {
        // Meanwhile the caller may have gone on, or the call be over.
        if (turn === this.#callerTurns && this.#phase.phase !== 'over') this.#answerTurn(words);
      });
  }

  #answerTurn(words: CallerWords): void {
    if (this.#parts.turns.answered) this.#parts.dialogue.turn(words.endedAt);
    // What was made ready for who has answered is still to be said.
    else if (!this.#parts.answering?.listening) this.#parts.speech.discardPrepared();
  }

  /** All of an utterance was heard. */
  #onHeard(text: string): void {
    const answer = this.#phase.on('reply_heard');
    if (answer === 'end') this.#parts.goodbye.finish();
    if (answer !== 'go_on') return;
    const said = text.toLowerCase();
    const { phrases } = this.#parts.plan.agent.config.end_call;
    if (phrases.some((phrase) => said.includes(phrase.toLowerCase())))
      this.end({ ended_by: 'agent', hangup_reason: 'agent_hangup' });
    else {
      if (!this.#parts.consent.underWay) this.#parts.dialogue.heard();
      this.#parts.texts.sayNext();
    }
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
    this.#parts.greeting.stop();
    this.#parts.consent.close();
    this.#parts.background.stop();
    this.#parts.flow.close();
    this.#parts.keys.close();
    this.#parts.consult?.close();
    this.#parts.consultation.close();
    this.#parts.blind.close();
    this.#parts.carrier.close();
    this.#parts.tools.close();
    this.#parts.log.countHeard();
    this.#parts.cost.tell();
    const endedAt = this.#clock.now();
    this.#parts.report.saveEnd(reason, endedAt);
    if (hangUp && participant.carrierCommands) this.#parts.carrier.notify('hangup', {});
    participant.end(
      reason.hangup_reason === 'shutdown' ? 'shutdown' : 'over',
      reason.hangup_reason ?? reason.failure_reason ?? 'ended',
    );
    this.#abort.abort(new Error('The call is over.'));
    void this.#finalise(reason, endedAt);
  }

  /** Stops the agent and writes down what was heard and what the caller was saying. */
  #closeConversation(): void {
    this.#parts.speech.cancel();
    const open = this.#parts.turns.takeOpen();
    if (open && !this.#parts.callerMessage.take(open)) this.#parts.transcript.unfinishedTurn(open);
    this.#parts.callerMessage.close();
  }

  async #finalise(reason: CallEndReason, endedAt: number): Promise<void> {
    const disposals = await Promise.allSettled([
      this.#parts.turns[Symbol.asyncDispose](),
      this.#parts.voices[Symbol.asyncDispose](),
    ]);
    for (const result of disposals)
      if (result.status === 'rejected')
        this.#deps.logger.error({ err: result.reason as unknown }, 'a provider could not be closed');
    this.#over.resolve(await this.#parts.report.finish(reason, endedAt));
  }

  readonly #emit: Emit = (type, data) => this.#deps.records.reporter.emit(type, data, this.#clock.offset());
}

function emulatedProviders(plan: SessionPlan): string[] {
  const emulated = [...plan.stt, ...plan.llm, ...plan.tts].filter((provider) => provider.emulated);
  return [...new Set(emulated.map(({ provider }) => provider))];
}
