import type { TransferDestination } from '@parley/shared/contracts/agent-config';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { Clock } from '@parley/shared/time/clock';
import type { LlmProvider } from '../providers/llm/llm-provider.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { ReplyGuard } from '../speech/reply-guard.ts';
import { AgentHandOver, type HandOverOrder, type Passed } from './agent-hand-over.ts';
import { BlindTransfer } from './blind-transfer.ts';
import type { AgentSource, NextAgent } from './call.ts';
import type { CallClock } from './call-clock.ts';
import { refusal } from './call-commands.ts';
import type { CallOwner } from './call-parts.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { CallTools } from './call-tools.ts';
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
import { failTransfer, Transfer, type TransferAsker } from './transfer.ts';
import { allDestinations, TransferTargets } from './transfer-targets.ts';
import type { TrustedVariables } from './trusted-variables.ts';
import type { TurnLog } from './turn-log.ts';

/** The parts of a call that bring the caller to somebody else. */
export interface TransferParts {
  consultation: Consultation;
  blind: BlindTransfer;
  transfer: Transfer;
  /**
   * Transfers the caller, or hands the call over.
   * @returns the code word of the refusal, if refused
   */
  bringTo(destination: TransferDestination, asker?: TransferAsker): string | undefined;
  /** Hands the call over to another agent. @returns as `bringTo` */
  handOver(order: HandOverOrder, asker: TransferAsker): string | undefined;
  /** The caller is back from the carrier, which could not connect them. @param asker who has wanted it, if not the model */
  returned(destinationId: string, asker: TransferAsker): void;
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
  guard: () => ReplyGuard | undefined;
  speech: AgentSpeech;
  tools: CallTools;
  transcript: Transcript;
  log: TurnLog;
  media: MediaClock;
  goodbye: Goodbye;
  callerMessage: CallerMessage;
  failures: Failures;
  owner: Pick<CallOwner, 'onTaken' | 'onBridged' | 'onLost' | 'onReturns' | 'signal'>;
  agents: AgentSource;
  /** Has the caller hear an audio asset. @returns what ends that */
  hold: (assetId: string) => () => void;
  /** Another agent goes on with the call. */
  onAgentChanged: (next: NextAgent, passed: Passed) => void;
}): TransferParts {
  const { plan, prompt, phase, speech, transcript, owner } = call;
  const whenFailed = {
    onReturned: (note: string, message: string | undefined, goOn: (() => void) | undefined) => {
      call.media.touch();
      transcript.note(note);
      if (message !== undefined) speech.say(message, 'say', { interruptible: true });
      else if (!goOn) speech.answer();
      goOn?.();
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
    guard: call.guard,
    onTrouble: (error) => call.failures.trouble('llm_trouble', error),
  });
  const consultation = new Consultation({
    carrier: call.carrier,
    clock: call.timers,
    briefOf: (destination) => brief.of(destination),
    hold: call.hold,
  });
  const blind = new BlindTransfer({
    carrier: call.carrier,
    clock: call.timers,
    onTaken: () => {
      if (phase.on('transfer_taken') === 'let_go') owner.onTaken();
    },
  });
  const transfer = new Transfer({
    ...call,
    targets: new TransferTargets(call),
    warm: consultation,
    blind,
    events: {
      onBridged: () => owner.onBridged(),
      onLost: () => owner.onLost(),
      onReturns: () => owner.onReturns(),
      ...whenFailed,
    },
  });
  const handOver = new AgentHandOver({
    ...call,
    talk: { nextTurnIndex: () => call.log.nextTurnIndex, summary: () => brief.forAgent() },
    signal: owner.signal,
    events: { onChanged: call.onAgentChanged, ...whenFailed },
  });
  const begin = (stimulus: 'transfer' | 'hand_over') => {
    const refused = refusal(phase.on(stimulus));
    if (refused === undefined) call.tools.confirmations.drop(TRANSFERRED);
    return refused;
  };
  const parts: TransferParts = {
    consultation,
    blind,
    transfer,
    bringTo(destination, asker = {}) {
      const { target } = destination;
      if (target.type === 'agent') {
        const order = { agentId: target.agent_id, destination, passVariables: true };
        return parts.handOver({ ...order, passHistory: 'all' }, asker);
      }
      const refused = begin('transfer');
      if (refused === undefined) void transfer.run(destination, speech, asker);
      return refused;
    },
    handOver(order, asker) {
      const refused = begin('hand_over');
      if (refused === undefined) void handOver.run(order, speech, asker);
      return refused;
    },
    returned(destinationId, asker) {
      const destination = allDestinations(plan).find(({ id }) => id === destinationId);
      if (destination) failTransfer(destination, prompt, whenFailed, asker);
    },
  };
  return parts;
}
