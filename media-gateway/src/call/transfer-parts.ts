import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { Clock } from '@parley/shared/time/clock';
import type { LlmProvider } from '../providers/llm/llm-provider.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import { AgentHandOver } from './agent-hand-over.ts';
import type { AgentSource, NextAgent } from './call.ts';
import type { CallClock } from './call-clock.ts';
import { refusal } from './call-commands.ts';
import type { CallOwner } from './call-parts.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { CallTools, TransferDestination } from './call-tools.ts';
import { CallerBrief } from './caller-brief.ts';
import type { CallerMessage } from './caller-message.ts';
import type { CarrierRequests } from './carrier-requests.ts';
import { Consultation } from './consultation.ts';
import type { Failures } from './failures.ts';
import type { Goodbye } from './goodbye.ts';
import type { MediaClock } from './media-clock.ts';
import type { PromptTexts } from './prompt.ts';
import { TRANSFERRED } from './tool-answers.ts';
import type { Transcript } from './transcript.ts';
import { failTransfer, Transfer } from './transfer.ts';
import { TransferTargets } from './transfer-targets.ts';
import type { TrustedVariables } from './trusted-variables.ts';
import type { TurnLog } from './turn-log.ts';

/** The parts of a call that bring the caller to somebody else. */
export interface TransferParts {
  consultation: Consultation;
  transfer: Transfer;
  /**
   * Transfers the caller, or hands the call over.
   * @param onFailed the transfer was tried, and the caller is still with the agent
   * @returns the code word of the refusal, if refused
   */
  bringTo(destination: TransferDestination, onFailed?: (code: string) => void): string | undefined;
  /** The caller is back from the carrier, which could not connect them. */
  returned(destinationId: string): void;
}

/** Makes the parts that transfer the caller, as `wireCall` does those that they work with. Starts nothing. */
export function wireTransfers(call: {
  plan: SessionPlan;
  prompt: PromptTexts;
  trusted: TrustedVariables;
  clock: CallClock;
  timers: Clock;
  phase: PhaseOfCall;
  emit: Emit;
  carrier: CarrierRequests;
  llms: LlmProvider[];
  speech: AgentSpeech;
  tools: CallTools;
  transcript: Transcript;
  log: TurnLog;
  media: MediaClock;
  goodbye: Goodbye;
  callerMessage: CallerMessage;
  failures: Failures;
  owner: Pick<CallOwner, 'onBridged' | 'onLost' | 'signal'>;
  agents: AgentSource;
  /** Has the caller hear an audio asset. @returns what ends that */
  hold: (assetId: string) => () => void;
  /** Another agent goes on with the call. */
  onAgentChanged: (next: NextAgent) => void;
}): TransferParts {
  const { plan, prompt, phase, speech, transcript, owner } = call;
  const whenFailed = {
    onReturned: (note: string, message: string | undefined) => {
      call.media.touch();
      transcript.note(note);
      if (message === undefined) speech.answer();
      else speech.say(message, 'say', { interruptible: true });
    },
    onGivenUp: (reason: CallEndReason, note: string, message: string | undefined) => {
      transcript.note(note);
      call.goodbye.say(reason, message);
    },
    onMessageWanted: (message: string | undefined) => void call.callerMessage.begin(message),
  };
  const brief = new CallerBrief({
    ...{ plan, prompt, llms: call.llms, clock: call.timers, usage: call.log.usage },
    messages: () => transcript.messages(prompt.systemPrompt()),
    onTrouble: (error) => call.failures.trouble('llm_trouble', error),
  });
  const consultation = new Consultation({
    carrier: call.carrier,
    clock: call.timers,
    briefOf: (destination) => brief.of(destination),
    hold: call.hold,
  });
  const transfer = new Transfer({
    ...call,
    targets: new TransferTargets(call),
    warm: consultation,
    events: {
      onBridged: () => owner.onBridged(),
      onLost: () => owner.onLost(),
      ...whenFailed,
    },
  });
  const handOver = new AgentHandOver({
    ...call,
    nextTurnIndex: () => call.log.nextTurnIndex,
    signal: owner.signal,
    events: { onChanged: call.onAgentChanged, ...whenFailed },
  });
  return {
    consultation,
    transfer,
    bringTo(destination, onFailed) {
      const { target } = destination;
      const refused = refusal(phase.on(target.type === 'agent' ? 'hand_over' : 'transfer'));
      if (refused !== undefined) return refused;
      call.tools.confirmations.drop(TRANSFERRED);
      if (target.type === 'agent') void handOver.run(destination, target.agent_id, speech, onFailed);
      else void transfer.run(destination, speech, onFailed);
      return undefined;
    },
    returned(destinationId) {
      const destination = plan.agent.config.transfer.destinations.find(({ id }) => id === destinationId);
      if (destination) failTransfer(destination, prompt, whenFailed);
    },
  };
}
