import type { NoiseSuppression } from '../hearing/noise/noise-suppression.ts';
import type { VoiceModel } from '../hearing/voice-model/voice-model.ts';
import type { Clock } from '@parley/shared/time/clock';
import type { PlanAsset } from '@parley/shared/contracts/audio-assets';
import type { CallReport } from '@parley/shared/contracts/call-events';
import type { HandOverPart, HandOverRequest } from '@parley/shared/contracts/hand-over';
import type { GatewayCommand } from '@parley/shared/contracts/commands';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Logger } from '@parley/shared/logging/logger';
import type { DetectLanguage } from '../languages/text-language.ts';
import type { CallRecorder } from '../recording/call-recorder.ts';
import type { Participant } from '../participants/participant.ts';
import type { CallProviders } from '../providers/provider-registry.ts';
import type { CallRedaction } from '../redaction/call-redaction.ts';
import type { CallReporter } from '../reporting/call-reporter.ts';
import type { TurnDetection } from '../turns/caller-turns.ts';
import type { KnowledgeSource } from './call-knowledge.ts';
import type { CallObserver } from './call-observer.ts';
import type { ClientTools } from './call-tools.ts';
import type { RecordedSpeech } from '../speech/recorded-speech.ts';
import type { Ticker } from '../speech/ticker.ts';
import type { ToolRunner } from '@parley/shared/tools/tool-runner';

/** The far end of a call, with what it brings along. */
export interface FarEnd {
  participant: Participant;
  /** Follows everything that the far end may show. */
  observer?: CallObserver;
  /** Tools that the far end runs itself. */
  clientTools?: ClientTools;
  /** The agent is text-only until `setTextOnly` says otherwise. */
  textOnly?: boolean;
}

/** The clocks of a call. */
export interface CallTime {
  clock: Clock;
  ticker: Ticker;
  /** When media began to flow (ms since the epoch): zero of every offset. */
  answeredAt: number;
}

/** What the agent makes use of beside its models. */
export interface CallResources {
  tools: ToolRunner;
  knowledge: KnowledgeSource;
  audio: AudioSource;
  languages: LanguageSource;
  /** Undefined: callers are heard with their noise. */
  noise?: NoiseSuppression | undefined;
  agents: AgentSource;
}

/** Other agents that may take the call over. */
export interface AgentSource {
  /** @throws HandOverError when it is refused; whatever the request met; the reason of `signal` */
  take(request: HandOverRequest, signal: AbortSignal): Promise<NextAgent>;
}

/** An agent that takes a running call over, with what it is held with. */
export interface NextAgent {
  /** Takes the place of these parts of the plan. */
  part: HandOverPart;
  providers: CallProviders;
  tools: ToolRunner;
}

/** Who tells the language of what callers say, where their STT does not. */
export interface LanguageSource {
  /** Makes ready for the first question. */
  warm(): void;
  readonly detect: DetectLanguage;
}

/** Audio that was uploaded for agents. */
export interface AudioSource {
  /** @param sampleRate of the far end, Hz. @throws whatever hinders */
  load(assetId: string, asset: PlanAsset, sampleRate: number): Promise<RecordedSpeech>;
}

/** What is kept of a call. */
export interface CallRecords {
  reporter: CallReporter;
  recorder: CallRecorder;
  /** What the reporter masks; the LLM is told by it as well. */
  redaction: CallRedaction;
}

export interface CallDeps {
  plan: SessionPlan;
  farEnd: FarEnd;
  /**
   * Providers that the registry made for this call; the call disposes of them. The voice model is lent by the gateway
   * to all its calls; without it loudness alone tells who speaks.
   */
  providers: CallProviders & { voiceModel: VoiceModel | undefined };
  records: CallRecords;
  resources: CallResources;
  time: CallTime;
  logger: Logger;
}

/** One conversation: owns its parts, ends once, with one reason. */
export interface Call {
  readonly sessionId: string;
  /** Resolves when the call is over, its recording closed and its report on disk. Never rejects. */
  readonly ended: Promise<CallReport>;
  /** Control over the turns, for a far end that takes part in them itself. */
  readonly steering: CallSteering;
  /** Ends the call, once; later calls change nothing. */
  end(reason: CallEndReason): void;
  /**
   * @returns a code word when the command cannot be done (`not_live`, `unknown_destination`, …), undefined when it
   * was taken
   */
  command(command: GatewayCommand): string | undefined;
}

/** What a far end can do that takes part in the turns itself: a client of the realtime protocol. */
export interface CallSteering {
  /** Ends the call, once; later calls change nothing. */
  end(reason: CallEndReason): void;
  /**
   * Something the caller wrote instead of saying it. It waits for `respond`.
   * @param after key of what it follows, null for the very beginning; without it it comes last
   * @returns its key, see `CallObserver`
   */
  addCallerText(text: string, after?: string | null): string;
  /** Adds words of the agent for the model alone: the transcript does not show them. @returns the key of the entry */
  addAgentText(text: string, after?: string | null): string;
  /** Removes an entry from what the model gets. The transcript keeps it. */
  forget(key: string): boolean;
  /** Takes the far end's result of a tool call. @returns whether the far end had been asked for that call */
  answerTool(callId: string, content: string): boolean;
  /**
   * The agent is to say something now: answers what was said, or goes on. Refused while it speaks or thinks.
   * @param options `textOnly`: no voice speaks this reply; otherwise as `setTextOnly` says
   */
  respond(options?: { textOnly?: boolean }): boolean;
  /** Stops the present reply, if it may be interrupted. @returns whether there was one to stop */
  interrupt(): boolean;
  /**
   * The far end says how much of a reply it played: nothing beyond counts as heard. Only for the reply that is being
   * said or was said last.
   * @returns what was heard of it, undefined when nothing changed
   */
  truncate(replyId: number, heardMs: number): string | undefined;
  /** The far end ends the caller's turn. `onCallerTurn` follows. @returns false when no audio was there to commit */
  commitCallerAudio(): boolean;
  /** Push to talk: discards what the caller said since the last commit. */
  clearCallerAudio(): void;
  /** Makes replies text-only from now on, or spoken again. */
  setTextOnly(only: boolean): void;
  /** Changes the voice from the next utterance on. @param voice the provider's own id */
  setVoice(voice: string): void;
  /**
   * Sets what the call does by itself. `respond`: the agent answers a turn; `interrupt`: a voice stops the agent;
   * `listen`: turns are detected at all, otherwise the far end commits them (push to talk).
   */
  setTurnDetection(detection: TurnDetection): void;
}
