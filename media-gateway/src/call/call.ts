import type { Clock } from '@parley/shared/time/clock';
import type { CallReport } from '@parley/shared/contracts/call-events';
import type { GatewayCommand } from '@parley/shared/contracts/commands';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Logger } from '@parley/shared/logging/logger';
import type { CallRecorder } from '../recording/call-recorder.ts';
import type { Participant } from '../participants/participant.ts';
import type { CallProviders } from '../providers/provider-registry.ts';
import type { CallReporter } from './call-reporter.ts';
import type { CallObserver } from './call-observer.ts';
import type { ClientTools } from './call-tools.ts';
import type { Ticker } from './ticker.ts';
import type { ToolRunner } from './tool-runner.ts';

export interface CallDeps {
  plan: SessionPlan;
  participant: Participant;
  /** Made for this call by the provider registry; the call disposes of them. */
  providers: CallProviders;
  reporter: CallReporter;
  recorder: CallRecorder;
  tools: ToolRunner;
  clock: Clock;
  ticker: Ticker;
  logger: Logger;
  /** When media began to flow (ms since the epoch): zero of every offset. */
  answeredAt: number;
  /** Told of everything that a far end may want to show or follow. */
  observer?: CallObserver;
  clientTools?: ClientTools;
}

/** One conversation: owns its parts, ends once, with one reason. */
export interface Call {
  readonly sessionId: string;
  /** Resolves when the call is over, its recording closed and its report on disk. Never rejects. */
  readonly ended: Promise<CallReport>;
  /** Ends the call, once; later calls change nothing. */
  end(reason: CallEndReason): void;
  /** @returns a code word when the command can't be done (`not_live`, `unknown_destination`, …), undefined when it was taken */
  command(command: GatewayCommand): string | undefined;
  /** Something the caller wrote instead of saying it. It waits for `respond`. */
  addCallerText(text: string): void;
  /** The agent is to say something now: answers what was said, or goes on. Refused while it speaks or thinks. */
  respond(): boolean;
  /** Stops what the agent is saying or thinking, if it may be stopped. @returns whether there was something */
  interrupt(): boolean;
  /** The far end says how much of the agent's last speech it played: nothing beyond counts as heard. */
  truncate(heardMs: number): void;
  /** Push to talk: the caller has finished. @returns what was understood, empty when nothing was */
  commitCallerAudio(): void;
  /** Automatic turn detection on or off. */
  setTurnDetection(options: { respond: boolean; interrupt: boolean; listen: boolean }): void;
}
