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
import type { Ticker } from './ticker.ts';

export interface CallDeps {
  plan: SessionPlan;
  participant: Participant;
  /** Made for this call by the provider registry; the call disposes of them. */
  providers: CallProviders;
  reporter: CallReporter;
  recorder: CallRecorder;
  clock: Clock;
  ticker: Ticker;
  logger: Logger;
  /** When media began to flow (ms since the epoch): zero of every offset. */
  answeredAt: number;
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
}
