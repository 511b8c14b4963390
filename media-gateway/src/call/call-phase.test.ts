import t from 'tap';
import type { CommandType } from '@parley/shared/contracts/commands';
import { ProviderError } from '@parley/shared/errors/provider-error';
import { CALL_PHASES, CALL_TABLE, PhaseOfCall, type CallPhase, type CallStimulus } from './call-phase.ts';
import { fakeCall, wirePlan, salesDestination } from './fakes.ts';

type FakeCall = ReturnType<typeof fakeCall>;

const stimuli = Object.keys(CALL_TABLE) as CallStimulus[];
const API = { ended_by: 'api', hangup_reason: 'api_hangup' };

const plan = wirePlan((_, config) => {
  config.dtmf.receive = true;
  config.transfer.destinations = [
    salesDestination({ announce_to_caller: 'I am connecting you to our sales department now.' }),
    salesDestination({ id: 'closed', on_failure: 'voicemail', failure_message: 'Leave a message.' }),
    salesDestination({ id: 'billing', target: { type: 'agent', agent_id: 'agt_2' } }),
  ];
});

function order(call: FakeCall, type: CommandType, args: object): string {
  const code = call.call.command({
    v: 1,
    command_id: 'cmd_1',
    session_id: call.plan.session_id,
    type,
    args: args as Record<string, unknown>,
    expires_at: new Date().toISOString(),
  });
  return code ?? 'taken';
}

const transferTo = (call: FakeCall) => order(call, 'transfer', { destination_id: 'sales' });

/** The carrier has taken the caller, and says what came of it. */
async function transferEnds(call: FakeCall, result: string): Promise<string> {
  const asked = call.events.find((event) => event.type === 'carrier_command');
  transferResult(call, true);
  await call.settle();
  const args = asked?.data['args'] as { transfer_id: string } | undefined;
  return order(call, 'transfer_result', { transfer_id: args?.transfer_id ?? 'none', result });
}

function transferResult(call: FakeCall, ok: boolean): string {
  const asked = call.events.find((event) => event.type === 'carrier_command');
  return order(call, 'carrier_result', { command_id: asked?.data['command_id'] ?? 'cmd_0', ok });
}

async function untilCarrierIsAsked(call: FakeCall): Promise<void> {
  while (!call.types().includes('carrier_command')) await call.wait(20);
}

/** How a call gets into each phase. */
const ways: Record<CallPhase, (call: FakeCall) => Promise<unknown>> = {
  talking: async () => {},
  away: async (call) => call.phone.listener.onGone({ by: 'caller', lost: true }),
  announcing: async (call) => {
    transferTo(call);
    await call.wait(300);
  },
  transferring: async (call) => {
    transferTo(call);
    await untilCarrierIsAsked(call);
  },
  handed_over: async (call) => {
    transferTo(call);
    await untilCarrierIsAsked(call);
    call.phone.listener.onGone({ by: 'caller', lost: false });
  },
  changing_agent: async (call) => {
    order(call, 'transfer', { destination_id: 'billing' });
    await call.wait(300);
  },
  taking_message: async (call) => {
    order(call, 'transfer', { destination_id: 'closed' });
    await untilCarrierIsAsked(call);
    transferResult(call, false);
    await call.wait(1600);
  },
  saying_goodbye: async (call) => {
    order(call, 'end', { ...API, message: 'Goodbye and thank you very much for your call.' });
    await call.wait(300);
  },
  over: (call) => {
    order(call, 'end', API);
    return call.call.ended;
  },
};

/** What then happens; returns what is answered to whoever asked for it. */
const happenings: Record<string, (call: FakeCall) => unknown> = {
  'the caller speaks': async (call) => {
    await call.hears('When do you close?');
  },
  'the caller presses keys': (call) => {
    for (const digit of '1#') call.phone.listener.onDtmf(digit);
  },
  'the client writes': (call) => void call.call.steering.addCallerText('When do you close?'),
  'the client wants a response': (call) => (call.call.steering.respond() ? 'taken' : 'refused'),
  'the caller hangs up': (call) => call.phone.listener.onGone({ by: 'caller', lost: false }),
  'the connection is lost': (call) => call.phone.listener.onGone({ by: 'caller', lost: true }),
  'the line is silent for 11 s': (call) => call.clock.advance(11_000),
  'the connection stays away for 15 s': (call) => call.clock.advance(15_000),
  'the last STT fails': (call) =>
    call.stt.onFailed(new ProviderError('fake-stt', 'unavailable', 'It is gone.')),
  say: (call) => order(call, 'say', { text: 'Your taxi is here.' }),
  'an event that says something': (call) => order(call, 'event', { name: 'taxi', say: 'Your taxi is here.' }),
  transfer: transferTo,
  'the carrier could not transfer': (call) => transferResult(call, false),
  'the carrier has taken the caller': (call) => transferResult(call, true),
  'the carrier has transferred': (call) => transferEnds(call, 'bridged'),
  'end with a message': (call) => order(call, 'end', { ...API, message: 'Goodbye then.' }),
  end: (call) => order(call, 'end', API),
};

/** What is seen then, in each phase. Nothing at all: "". */
const effects: Record<string, Record<CallPhase, string>> = {
  'the caller speaks': {
    talking: 'asks the model, says "All right then.", writes "When do you close?"',
    away: '',
    announcing: 'writes "When do you close?"',
    transferring: '',
    handed_over: '',
    changing_agent: 'writes "When do you close?"',
    taking_message: '',
    saying_goodbye: '',
    over: '',
  },
  'the caller presses keys': {
    talking: 'asks the model, says "All right then.", writes "(keys) 1"',
    away: '',
    announcing: 'writes "(keys) 1"',
    transferring: 'writes "(keys) 1"',
    handed_over: 'writes "(keys) 1"',
    changing_agent: 'writes "(keys) 1"',
    taking_message: '',
    saying_goodbye: '',
    over: '',
  },
  'the client writes': {
    talking: 'writes "When do you close?"',
    away: 'writes "When do you close?"',
    announcing: 'writes "When do you close?"',
    transferring: 'writes "When do you close?"',
    handed_over: 'writes "When do you close?"',
    changing_agent: 'writes "When do you close?"',
    taking_message: 'writes "When do you close?"',
    saying_goodbye: 'writes "When do you close?"',
    over: '',
  },
  'the client wants a response': {
    talking: 'taken, asks the model, says "All right then."',
    away: 'refused',
    announcing: 'refused',
    transferring: 'refused',
    handed_over: 'refused',
    changing_agent: 'taken',
    taking_message: 'refused',
    saying_goodbye: 'refused',
    over: 'refused',
  },
  'the caller hangs up': {
    talking: 'ends (caller_hangup)',
    away: 'ends (caller_hangup)',
    announcing: 'ends (caller_hangup)',
    transferring: '',
    handed_over: '',
    changing_agent: 'ends (caller_hangup)',
    taking_message: 'ends (caller_hangup)',
    saying_goodbye: 'ends (caller_hangup)',
    over: '',
  },
  'the connection is lost': {
    talking: '',
    away: '',
    announcing: 'ends (caller_hangup)',
    transferring: '',
    handed_over: '',
    changing_agent: '',
    taking_message: 'ends (caller_hangup)',
    saying_goodbye: 'ends (caller_hangup)',
    over: '',
  },
  'the line is silent for 11 s': {
    talking: 'asks the model, ends (media_timeout)',
    away: '',
    announcing: 'ends (media_timeout)',
    transferring: '',
    handed_over: '',
    changing_agent: 'ends (media_timeout)',
    taking_message: 'ends (voicemail)',
    saying_goodbye: 'ends (api_hangup)',
    over: '',
  },
  'the connection stays away for 15 s': {
    talking: 'asks the model, ends (media_timeout)',
    away: 'ends (caller_hangup)',
    announcing: 'ends (media_timeout)',
    transferring: 'says "Nobody is free."',
    handed_over: 'ends (caller_hangup)',
    changing_agent: 'ends (media_timeout)',
    taking_message: 'ends (voicemail)',
    saying_goodbye: 'ends (api_hangup)',
    over: '',
  },
  'the last STT fails': {
    talking: 'says "I am sorry, something is not working at the moment. Please call again later."',
    away: '',
    announcing: '',
    transferring: '',
    handed_over: '',
    changing_agent: '',
    taking_message: '',
    saying_goodbye: '',
    over: '',
  },
  say: {
    talking: 'taken, says "Your taxi is here."',
    away: 'away',
    announcing: 'transferring',
    transferring: 'transferring',
    handed_over: 'transferring',
    changing_agent: 'transferring',
    taking_message: 'ending',
    saying_goodbye: 'ending',
    over: 'not_live',
  },
  'an event that says something': {
    talking: 'taken, says "Your taxi is here."',
    away: 'away',
    announcing: 'transferring',
    transferring: 'transferring',
    handed_over: 'transferring',
    changing_agent: 'transferring',
    taking_message: 'ending',
    saying_goodbye: 'ending',
    over: 'not_live',
  },
  transfer: {
    talking: 'taken, says "I am connecting you to our sales department now."',
    away: 'away',
    announcing: 'transfer_in_progress',
    transferring: 'transfer_in_progress',
    handed_over: 'transfer_in_progress',
    changing_agent: 'transfer_in_progress',
    taking_message: 'ending',
    saying_goodbye: 'ending',
    over: 'not_live',
  },
  'the carrier could not transfer': {
    talking: 'taken',
    away: 'taken',
    announcing: 'taken',
    transferring: 'taken, says "Nobody is free."',
    handed_over: 'taken, ends (caller_hangup)',
    changing_agent: 'taken',
    taking_message: 'taken',
    saying_goodbye: 'taken',
    over: 'not_live',
  },
  'the carrier has taken the caller': {
    talking: 'taken',
    away: 'taken',
    announcing: 'taken',
    transferring: 'taken',
    handed_over: 'taken',
    changing_agent: 'taken',
    taking_message: 'taken',
    saying_goodbye: 'taken',
    over: 'not_live',
  },
  'the carrier has transferred': {
    talking: 'taken',
    away: 'taken',
    announcing: 'taken',
    transferring: 'taken, ends (transferred)',
    handed_over: 'taken, ends (transferred)',
    changing_agent: 'taken',
    taking_message: 'taken',
    saying_goodbye: 'taken',
    over: 'not_live',
  },
  'end with a message': {
    talking: 'taken, says "Goodbye then."',
    away: 'taken, ends (api_hangup)',
    announcing: 'taken, says "Goodbye then."',
    transferring: 'taken, ends (api_hangup)',
    handed_over: 'taken, ends (api_hangup)',
    changing_agent: 'taken, says "Goodbye then."',
    taking_message: 'taken, ends (api_hangup)',
    saying_goodbye: 'taken',
    over: 'not_live',
  },
  end: {
    talking: 'taken, ends (api_hangup)',
    away: 'taken, ends (api_hangup)',
    announcing: 'taken, ends (api_hangup)',
    transferring: 'taken, ends (api_hangup)',
    handed_over: 'taken, ends (api_hangup)',
    changing_agent: 'taken, ends (api_hangup)',
    taking_message: 'taken, ends (api_hangup)',
    saying_goodbye: 'taken, ends (api_hangup)',
    over: 'not_live',
  },
};

/** What is seen of a call: answer, what the model was asked for, what is said and written, how it ended. */
async function effectOf(happening: (call: FakeCall) => unknown, phase: CallPhase): Promise<string> {
  // The other agent keeps the caller waiting.
  const call = fakeCall({ plan, otherAgent: () => new Promise(() => {}) });
  await call.wait(1600);
  await ways[phase](call);
  const before = { spoken: call.spoken.length, asked: call.requests.length, texts: call.texts().length };
  const answer = await happening(call);
  await call.wait(600);
  const ended = phase === 'over' ? undefined : call.report;
  const seen = [
    answer,
    call.requests.length > before.asked ? 'asks the model' : undefined,
    ...call.spoken.slice(before.spoken).map((text) => `says "${text}"`),
    ...call
      .texts()
      .slice(before.texts)
      .filter((text) => text.startsWith('caller'))
      .map((text) => `writes "${text.slice('caller: '.length)}"`),
    ended && `ends (${ended.hangup_reason ?? ended.failure_reason})`,
  ];
  return seen.filter((part) => part !== undefined).join(', ');
}

void t.test('in every phase of a call, whatever happens has the effect that belongs to it', async (t) => {
  for (const [name, happening] of Object.entries(happenings)) {
    const seen: Record<string, string> = {};
    for (const phase of CALL_PHASES) seen[phase] = await effectOf(happening, phase);
    t.same(seen, effects[name], name);
  }
});

void t.test('the table', async (t) => {
  const cells = stimuli.flatMap((stimulus) =>
    CALL_PHASES.map((phase) => {
      const { answer, next } = CALL_TABLE[stimulus][phase] as { answer: string; next?: CallPhase };
      return { stimulus, phase, answer, next };
    }),
  );

  await t.test('has an answer to everything in every phase', (t) => {
    t.equal(cells.length, stimuli.length * CALL_PHASES.length);
    t.same(
      cells.filter(({ answer }) => answer === ''),
      [],
    );
    t.end();
  });

  await t.test('lets nothing happen after the end', (t) => {
    const done = cells.filter(({ phase }) => phase === 'over');
    t.same([...new Set(done.map(({ answer }) => answer))].toSorted(), [
      'drop',
      'ignore',
      'not_live',
      'refuse',
    ]);
    t.ok(done.every(({ next }) => next === undefined));
    t.end();
  });

  await t.test('lets the agent say something of its own accord only while it talks', (t) => {
    const speaking = ['greet', 'answer', 'think', 'take_turn', 'count'];
    const elsewhere = cells.filter(({ phase, answer }) => phase !== 'talking' && speaking.includes(answer));
    // Between two agents the turn waits for the second one, and what is left as a message for nobody.
    const kept = { stimulus: 'caller_words', answer: 'take_turn', next: undefined };
    t.same(elsewhere, [
      { ...kept, phase: 'changing_agent' },
      { ...kept, phase: 'taking_message' },
    ]);
    t.end();
  });

  await t.test('leads from a goodbye nowhere but to the end, and from everywhere there', (t) => {
    const from = (phase: CallPhase) =>
      cells.flatMap((cell) => (cell.phase === phase && cell.next ? [cell.next] : []));
    t.same([...new Set(from('saying_goodbye'))], ['over']);
    for (const phase of CALL_PHASES)
      if (phase !== 'over') t.ok(from(phase).includes('over'), `${phase} can end`);
    t.end();
  });

  await t.test('is what moves a call', (t) => {
    for (const { stimulus, phase, answer, next } of cells) {
      const call = new PhaseOfCall(phase);
      t.equal(call.answerTo(stimulus), answer);
      t.equal(call.phase, phase, 'asking changes nothing');
      t.equal(call.on(stimulus), answer);
      t.equal(call.phase, next ?? phase, `${stimulus} while ${phase}`);
    }
    t.end();
  });
});
