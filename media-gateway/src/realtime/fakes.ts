import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { SessionPlan, SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { silentLogger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { fakeCall, wirePlan } from '../call/fakes.ts';
import type { LlmScript } from '../call/fakes.ts';
import { RealtimeSession } from './realtime-session.ts';

/** A server event as it went out. */
export interface SentEvent {
  type: string;
  event_id: string;
  [field: string]: unknown;
}

const FRAME_MS = 20;
const LOUD = Buffer.alloc(FRAME_MS * 48);
for (let i = 0; i < LOUD.length; i += 2) LOUD.writeInt16LE(i % 32 < 16 ? 9000 : -9000, i);
const SILENT = Buffer.alloc(FRAME_MS * 48);

export function webPlan(
  change: (plan: SessionPlanWire, config: AgentConfig) => void = () => {},
): SessionPlan {
  return wirePlan((plan, config) => {
    plan.channel = 'web';
    plan.direction = 'web';
    plan.provider = null;
    plan.limits.client_overrides = ['tools', 'voice', 'turn_detection'];
    change(plan, config);
  });
}

/** A client of the protocol with a real call behind it, stand-ins for its providers, and a clock moved by hand. */
export function fakeRealtime(
  options: {
    plan?: SessionPlan;
    llm?: LlmScript;
    /** Sent before the plan has come. */
    early?: readonly object[];
    /** The connection is lost before the plan has come. */
    lostEarly?: boolean;
    words?: boolean;
  } = {},
) {
  const events: SentEvent[] = [];
  const closed: { code: number; reason: string }[] = [];
  let microphone = true;
  let session!: RealtimeSession;
  const send = (event: object) => session.onMessage(Buffer.from(JSON.stringify(event)));
  const frame = (voiced: boolean) => ({
    type: 'input_audio_buffer.append',
    audio: (voiced ? LOUD : SILENT).toString('base64'),
  });
  const call = fakeCall({
    plan: options.plan ?? webPlan(),
    ...(options.llm ? { llm: options.llm } : {}),
    ...(options.words === undefined ? {} : { words: options.words }),
    farEnd: (clock: Clock, plan) => {
      session = new RealtimeSession({
        socket: {
          send: (text) => void events.push(JSON.parse(text) as SentEvent),
          end: (code, reason) => void closed.push({ code, reason }),
          cork: (task) => task(),
          bufferedBytes: 0,
        },
        clock,
        logger: silentLogger(),
      });
      for (const event of options.early ?? []) send(event);
      if (options.lostEarly) session.onClose(1006);
      const { participant, ...deps } = session.open(plan);
      return {
        participant,
        deps,
        tick: (voiced) => {
          if (microphone) send(frame(voiced));
        },
      };
    },
  });
  session.join(call.call.steering);

  return {
    ...call,
    session,
    events,
    closed,
    send,
    types: (from = 0) => events.slice(from).map((event) => event.type),
    /** All events of a kind. */
    of: (type: string, from = 0) => events.slice(from).filter((event) => event.type === type),
    last: (type: string) => events.findLast((event) => event.type === type),
    /** Milliseconds of audio sent in a response. */
    audioMs: (responseId: string) =>
      events
        .filter(
          (event) => event.type === 'response.output_audio.delta' && event['response_id'] === responseId,
        )
        .reduce((ms, event) => ms + Buffer.from(event['delta'] as string, 'base64').length / 48, 0),
    setMicrophone: (on: boolean) => void (microphone = on),
    get stt() {
      return call.stt;
    },
    get finalized() {
      return call.finalized;
    },
    get report() {
      return call.report;
    },
  };
}
