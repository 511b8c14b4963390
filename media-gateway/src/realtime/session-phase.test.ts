import t from 'tap';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { fakeCall } from '../call/fakes.ts';
import type { RealtimeParticipant } from '../participants/realtime-participant.ts';
import { webPlan } from './fakes.ts';
import type { SentEvent } from './fakes.ts';
import { RealtimeSession } from './realtime-session.ts';
import { SESSION_INPUTS, SESSION_PHASES } from './session-phase.ts';
import type { SessionInput, SessionPhase } from './session-phase.ts';

const QUARTER_HOUR = 15 * 60_000;

/** A call that does not end by itself for a long time. */
const plan = webPlan((plan, config) => {
  plan.agent.greeting = '';
  plan.limits.max_duration_seconds = 7200;
  config.silence.max_reminders = 0;
  config.silence.end_call_after_seconds = 3600;
});

/** A session that was brought to a phase, and what comes of it from there on. */
async function sessionIn(phase: SessionPhase) {
  const sent: SentEvent[] = [];
  const closed: [number, string][] = [];
  const make = (clock: ManualClock) =>
    new RealtimeSession({
      socket: {
        send: (text) => void sent.push(JSON.parse(text) as SentEvent),
        end: (code, reason) => void closed.push([code, reason]),
        cork: (task) => task(),
        bufferedBytes: 0,
      },
      clock,
      logger: silentLogger(),
    });
  const state: {
    session: RealtimeSession | undefined;
    call: ReturnType<typeof fakeCall> | undefined;
    participant: RealtimeParticipant | undefined;
  } = { session: undefined, call: undefined, participant: undefined };
  const open = () => {
    state.call = fakeCall({
      plan,
      farEnd: (clock, plan) => {
        state.session ??= make(clock);
        const { participant, ...deps } = state.session.open(plan);
        state.participant = participant;
        return { participant, deps, tick() {} };
      },
    });
    return state.call;
  };
  let clock = new ManualClock();
  if (phase === 'redeeming' || phase === 'over') {
    state.session = make(clock);
    if (phase === 'over') state.session.onClose(1000);
  } else {
    const opened = open();
    clock = opened.clock;
    if (phase === 'live') state.session?.join(opened.call.steering);
    await opened.wait(100);
    sent.length = 0;
  }
  return { session: state.session!, clock, state, open, sent, closed };
}

type Session = Awaited<ReturnType<typeof sessionIn>>;

const send = (session: RealtimeSession, text: string) => session.onMessage(Buffer.from(text));

const INPUTS: Record<SessionInput, (s: Session) => void> = {
  event: ({ session }) => send(session, '{"type":"input_audio_buffer.clear"}'),
  fault: ({ session }) => send(session, '{"type":"no.such.event"}'),
  refusal: ({ session }) => session.refuse(4401, 'credential_invalid', 'No.'),
  silence: ({ clock }) => clock.advance(QUARTER_HOUR),
  plan: ({ open }) => void open(),
  call: ({ session, state }) => session.join((state.call ?? fakeCall()).call.steering),
  gone: ({ session }) => session.onClose(1006),
  hang_up: ({ session, state }) => {
    if (state.participant) state.participant.end('over', 'agent_hangup');
    else session.onClosed(1000, 'agent_hangup');
  },
};

interface Outcome {
  /** Types of the events that the client gets; of errors their code. */
  sent?: string[];
  /** How the client is closed. */
  closed?: [number, string];
  /** How the call ended. */
  ended?: string;
  /** The input cannot come. */
  fails?: true;
  /** What an event of the client does behind it: it waits, is answered, or comes to nothing. */
  then: 'waits' | 'is answered' | 'is dropped';
  departure?: { reason: string; lost: boolean };
}

const REFUSED = { reason: 'rejected', lost: false };
const HUNG_UP = { reason: 'caller_hangup', lost: false };
const LOST = { reason: 'caller_hangup', lost: true };
const FAILS = { fails: true } as const;

const TABLE: Record<SessionPhase, Record<SessionInput, Outcome>> = {
  redeeming: {
    event: { then: 'waits' },
    fault: { sent: ['invalid_event'], then: 'waits' },
    refusal: {
      sent: ['credential_invalid'],
      closed: [4401, 'credential_invalid'],
      departure: REFUSED,
      then: 'is dropped',
    },
    silence: { sent: ['idle'], closed: [1000, 'idle'], departure: REFUSED, then: 'is dropped' },
    plan: { sent: ['session.created'], then: 'waits' },
    call: { ...FAILS, then: 'waits' },
    gone: { departure: LOST, then: 'is dropped' },
    hang_up: { ...FAILS, then: 'waits' },
  },
  opening: {
    event: { then: 'waits' },
    fault: { sent: ['invalid_event'], then: 'waits' },
    refusal: {
      sent: ['credential_invalid'],
      closed: [4401, 'credential_invalid'],
      departure: REFUSED,
      ended: 'caller_hangup',
      then: 'is dropped',
    },
    silence: {
      sent: ['idle'],
      closed: [1000, 'idle'],
      departure: REFUSED,
      ended: 'caller_hangup',
      then: 'is dropped',
    },
    plan: { ...FAILS, then: 'waits' },
    call: { then: 'is answered' },
    gone: { departure: LOST, then: 'is dropped' },
    hang_up: { closed: [1000, 'agent_hangup'], departure: HUNG_UP, then: 'is dropped' },
  },
  live: {
    event: { sent: ['input_audio_buffer.cleared'], then: 'is answered' },
    fault: { sent: ['invalid_event'], then: 'is answered' },
    refusal: {
      closed: [4401, 'credential_invalid'],
      departure: REFUSED,
      ended: 'caller_hangup',
      then: 'is dropped',
    },
    silence: { closed: [1000, 'silence'], departure: HUNG_UP, ended: 'silence', then: 'is dropped' },
    plan: { ...FAILS, then: 'is answered' },
    call: { ...FAILS, then: 'is answered' },
    gone: { departure: LOST, then: 'is dropped' },
    hang_up: { closed: [1000, 'agent_hangup'], departure: HUNG_UP, then: 'is dropped' },
  },
  over: {
    event: { departure: HUNG_UP, then: 'is dropped' },
    fault: { departure: HUNG_UP, then: 'is dropped' },
    refusal: { departure: HUNG_UP, then: 'is dropped' },
    silence: { departure: HUNG_UP, then: 'is dropped' },
    plan: { departure: HUNG_UP, ended: 'caller_hangup', then: 'is dropped' },
    call: { departure: HUNG_UP, then: 'is dropped' },
    gone: { departure: HUNG_UP, then: 'is dropped' },
    hang_up: { departure: HUNG_UP, then: 'is dropped' },
  },
};

const briefly = (events: readonly SentEvent[]) =>
  events.map(({ type, error }) => (type === 'error' ? (error as { code: string }).code : type));

/** What becomes of the client's next event, also when the session gets all that it still waits for. */
function fateOfNext({ session, state, open, sent }: Session): Outcome['then'] {
  const isAnswered = () => briefly(sent).includes('item_not_found');
  sent.length = 0;
  send(session, '{"type":"conversation.item.retrieve","item_id":"none"}');
  if (isAnswered()) return 'is answered';
  session.join((state.call ?? open()).call.steering);
  return isAnswered() ? 'waits' : 'is dropped';
}

for (const phase of SESSION_PHASES) {
  void t.test(`a session that is ${phase}`, async (t) => {
    for (const input of SESSION_INPUTS) {
      const session = await sessionIn(phase);
      const { then, ...expected } = TABLE[phase][input];
      let fails = false;
      try {
        INPUTS[input](session);
      } catch {
        fails = true;
      }
      await new Promise((resolve) => setImmediate(resolve));
      const { departure } = session.session;
      const report = session.state.call?.report;
      const actual: Omit<Outcome, 'then'> = {
        ...(session.sent.length > 0 ? { sent: briefly(session.sent) } : {}),
        ...(session.closed.length > 0 ? { closed: session.closed[0]! } : {}),
        ...(report ? { ended: report.hangup_reason ?? report.failure_reason ?? '' } : {}),
        ...(fails ? { fails } : {}),
        ...(departure
          ? {
              departure: {
                reason: departure.end.hangup_reason ?? departure.end.failure_reason ?? '',
                lost: departure.lost,
              },
            }
          : {}),
      };
      t.same(actual, expected, input);
      t.ok(session.closed.length <= 1, `${input}: the client is closed once`);
      t.equal(fateOfNext(session), then, `${input}: the next event ${then}`);
    }
  });
}
