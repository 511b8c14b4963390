import type { HandOverPart, HandOverRequest } from '@parley/shared/contracts/hand-over';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { AgentSource, Call, CallDeps, CallResources, FarEnd } from '../call/call.ts';
import { needsConsent } from '../call/recording-consent.ts';
import { ConsentRecorder } from '../recording/consent-recorder.ts';
import { Ticker } from '../speech/ticker.ts';
import type { VoiceModel } from '../hearing/voice-model/voice-model.ts';
import type { CallProviders, ProviderRegistry } from '../providers/provider-registry.ts';
import { CallRedaction } from '../redaction/call-redaction.ts';
import { RedactingReporter } from '../redaction/redacting-reporter.ts';
import type { RecordingSpool } from '../recording/recording-spool.ts';
import { emptyReport } from '../reporting/report-spool.ts';
import type { CallReporters, SpooledCallReporter } from '../reporting/spooled-call-reporter.ts';

/** What starts a call. */
export interface NewCall extends FarEnd {
  plan: SessionPlan;
  /** The connection of the far end. */
  socket: { readonly closed: boolean };
  /** When media began to flow on this leg, ms since the epoch. */
  startedAt: number;
  carrierCallId?: string;
  streamId?: string;
}

/** A call that was started, and who tells of it. */
export interface StartedCall {
  call: Call;
  reporter: SpooledCallReporter;
  /** Zero of its offsets, ms since the epoch. */
  answeredAt: number;
}

type OpenCall = (deps: CallDeps) => Call;

/** What calls make use of beside their models, by plan. */
export interface ResourceSource {
  of(plan: SessionPlan): Omit<CallResources, 'agents'>;
  /** @throws HandOverError when it is refused; whatever the request met; the reason of `signal` */
  handOver(sessionId: string, request: HandOverRequest, signal: AbortSignal): Promise<HandOverPart>;
}

/** Turns a session plan and a far end into a call, or into the report that there was none. */
export class CallStarter {
  readonly #openCall: OpenCall;
  readonly #providers: ProviderRegistry;
  readonly #resources: ResourceSource;
  readonly #recordings: RecordingSpool;
  readonly #voiceModel: VoiceModel | undefined;
  readonly #reporters: CallReporters;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #ticker: Ticker;

  constructor(deps: {
    openCall: OpenCall;
    providers: ProviderRegistry;
    resources: ResourceSource;
    recordings: RecordingSpool;
    voiceModel: VoiceModel | undefined;
    reporters: CallReporters;
    clock: Clock;
    logger: Logger;
  }) {
    this.#openCall = deps.openCall;
    this.#providers = deps.providers;
    this.#resources = deps.resources;
    this.#recordings = deps.recordings;
    this.#voiceModel = deps.voiceModel;
    this.#reporters = deps.reporters;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#ticker = new Ticker(deps.clock);
  }

  /**
   * Begins a call. When it cannot, the session is reported as failed and the participant's connection ended.
   * @throws what kept the call from beginning
   */
  start(start: NewCall): StartedCall {
    const { plan, participant, observer, clientTools, textOnly } = start;
    // On later legs, offsets go on from the first answer.
    const answeredAt = plan.answered_at === null ? start.startedAt : Date.parse(plan.answered_at);
    const logger = this.#logger.child({ sessionId: plan.session_id, leg: plan.leg });
    const reporter = this.#reporters(plan, answeredAt, {
      ...(start.carrierCallId === undefined ? {} : { carrier_call_id: start.carrierCallId }),
      ...(start.streamId === undefined ? {} : { stream_id: start.streamId }),
    });
    try {
      const redaction = new CallRedaction(plan);
      const record = () => this.#recordings.recorder({ plan, participant, answeredAt, reporter, logger });
      const recorder = needsConsent(plan) ? new ConsentRecorder(plan.record.recording_id, record) : record();
      const { variables } = plan;
      const call = this.#openCall({
        plan,
        farEnd: {
          participant,
          ...(observer ? { observer } : {}),
          ...(clientTools ? { clientTools } : {}),
          ...(textOnly === undefined ? {} : { textOnly }),
        },
        providers: { ...this.#providersFor(plan, participant), voiceModel: this.#voiceModel },
        records: {
          reporter: new RedactingReporter({ reporter, redaction, recorder, variables }),
          ...{ recorder, redaction },
        },
        resources: { ...this.#resources.of(plan), agents: this.#agentsFor(plan, participant) },
        time: { clock: this.#clock, ticker: this.#ticker, answeredAt },
        logger,
      });
      logger.info({ carrier: participant.carrier, emulated: isEmulated(plan) }, 'call started');
      return { call, reporter, answeredAt };
    } catch (error) {
      participant.end('failed', 'internal');
      void reporter.end(emptyReport({ answeredAt, endedAt: this.#clock.now() }));
      throw error;
    }
  }

  /** Reports the end of a session that becomes no call. Resolves when the report is on disk. */
  async reportNotBegun(plan: SessionPlan, reason: CallEndReason): Promise<void> {
    const now = this.#clock.now();
    const { answered_at } = plan;
    const answeredAt = answered_at === null ? now : Date.parse(answered_at);
    const { failure_reason: _, ...report } = emptyReport({ answeredAt, endedAt: now });
    this.#logger.info({ sessionId: plan.session_id, leg: plan.leg, ...reason }, 'a session was not started');
    const { recording_id } = plan.record;
    await this.#reporters(plan, answeredAt).end({
      ...report,
      ...reason,
      answered_at,
      variables: plan.variables,
      language: plan.agent.config.language.primary,
      ...(plan.record.enabled ? { recording: { recording_id, status: 'failed', error: 'not_begun' } } : {}),
    });
  }

  #agentsFor(plan: SessionPlan, participant: FarEnd['participant']): AgentSource {
    return {
      take: async (request, signal) => {
        const part = await this.#resources.handOver(plan.session_id, request, signal);
        const next = { ...plan, ...part };
        // What a client chose was a voice of the agent before.
        const { withVoice: _, ...providers } = this.#providersFor(next, participant);
        // A provider that cannot be made is no way to go on with a call.
        for (const make of [...providers.stt, ...providers.llm]) make();
        return {
          part,
          providers: { ...providers, withVoice: undefined },
          tools: this.#resources.of(next).tools,
        };
      },
    };
  }

  #providersFor(
    plan: SessionPlan,
    { outputFormat }: Pick<FarEnd['participant'], 'outputFormat'>,
  ): CallProviders {
    return {
      ...this.#providers.forCall(plan, outputFormat),
      inLanguage: (part) => {
        const { stt, tts, withVoice } = this.#providersFor({ ...plan, ...part }, { outputFormat });
        return { stt, tts, withVoice };
      },
      withVoice: (voice) => {
        const [first, ...rest] = plan.tts;
        const changed = { ...plan, tts: [{ ...first!, voice }, ...rest] };
        return this.#providers.forCall(changed, outputFormat).tts;
      },
    };
  }
}

function isEmulated(plan: SessionPlan): boolean {
  return [...plan.stt, ...plan.llm, ...plan.tts].some((provider) => provider.emulated);
}
