import t from 'tap';
import { consultLimitMs } from '@parley/shared/contracts/consult';
import { fakeCall, salesDestination, wirePlan, type LlmScript } from './fakes.ts';

type FakeCall = ReturnType<typeof fakeCall>;
type Destination = ReturnType<typeof salesDestination>;

function warmPlan(change: Partial<Destination> = {}) {
  return wirePlan((plan, config) => {
    plan.variables = { name: 'Ada' };
    config.transfer.destinations = [
      salesDestination({
        mode: 'warm',
        brief_to_target: 'text',
        brief_text: '{{name}} wants to buy.',
        target: { type: 'phone', phone_number: '+14155550123', extension: 'w12' },
        ...change,
      }),
    ];
  });
}

function command(call: FakeCall, type: string, args: Record<string, unknown>): string | undefined {
  const head = { v: 1, command_id: 'cmd_1', session_id: call.plan.session_id } as const;
  return call.call.command({
    ...head,
    type: type as 'end',
    args,
    expires_at: new Date().toISOString(),
  });
}

/** What the carrier was asked for, in order. */
const asked = (call: FakeCall) =>
  call.events
    .filter(({ type }) => type === 'carrier_command')
    .map(
      ({ data }) =>
        data as { command_id: string; action: string; args: Record<string, string>; brief?: string },
    );
const phases = (call: FakeCall) =>
  call.events
    .filter(({ type }) => type === 'transfer')
    .map(({ data }) => [data['phase'], data['code']].filter(Boolean).join(': '));

function answer(call: FakeCall, action: string, result: { ok: boolean; code?: string }): void {
  const { command_id } = asked(call).findLast((one) => one.action === action)!;
  command(call, 'carrier_result', { command_id, ...result });
}

void t.test('a command may bring a destination along that the agent has not', async (t) => {
  const call = fakeCall({ plan: warmPlan() });
  await call.wait(1600);
  t.equal(command(call, 'transfer', { destination_id: 'operator' }), 'unknown_destination');
  const destination = {
    id: 'operator',
    mode: 'warm',
    target: { type: 'phone', phone_number: '+14155550199' },
  };
  t.equal(command(call, 'transfer', { destination }), undefined);
  await call.wait(200);
  t.match(asked(call), [{ action: 'consult', args: { to: '+14155550199', destination_id: 'operator' } }]);
  answer(call, 'consult', { ok: false, code: 'blocked' });
  await call.settle();
  answer(call, 'consult_cancel', { ok: true });
  await call.wait(200);
  t.equal(phases(call).at(-1), 'failed: blocked');
  t.equal(command(call, 'transfer', { destination }), undefined, 'the agent has the caller again');
});

/** A caller who waits, while somebody is called. */
async function waiting(change: Partial<Destination> = {}, llm?: LlmScript): Promise<FakeCall> {
  const call = fakeCall({ plan: warmPlan(change), ...(llm && { llm }) });
  await call.wait(1600);
  command(call, 'transfer', { destination_id: 'sales' });
  await call.wait(200);
  answer(call, 'consult', { ok: true });
  await call.wait(40);
  return call;
}

const result = (call: FakeCall, value: string, code?: string) =>
  command(call, 'consult_result', {
    transfer_id: asked(call)[0]!.args['transfer_id'],
    result: value,
    ...(code !== undefined && { code }),
  });

void t.test('the caller waits until who was called has taken them', async (t) => {
  const call = await waiting();
  t.match(asked(call), [
    {
      action: 'consult',
      brief: 'Ada wants to buy.',
      args: { to: '+14155550123', extension: 'w12', ring_timeout_seconds: 20, destination_id: 'sales' },
    },
  ]);
  t.notOk('caller_id' in asked(call)[0]!.args, 'a number of ours is shown');
  // Longer than anything else is waited for.
  await call.wait(60_000);
  t.same(phases(call), ['begun']);
  t.equal(command(call, 'say', { text: 'Hello?' }), 'transferring');
  command(call, 'consult_result', { transfer_id: 'another', result: 'declined' });
  await call.wait(40);
  t.same(phases(call), ['begun'], 'the outcome of another transfer is none');
  result(call, 'accepted');
  await call.settle();
  t.match(call.report, { ended_by: 'agent', hangup_reason: 'transferred' });
  t.same(phases(call), ['begun', 'bridged']);
  t.ok(call.phone.closed, 'our stream ends');
  t.equal(asked(call).length, 1, 'nobody is hung up, or called off');
  t.notOk(call.types().includes('stalled'));
});

void t.test('the agent goes on where nobody takes the caller', async (t) => {
  const call = await waiting();
  result(call, 'declined');
  await call.settle();
  t.equal(asked(call).at(-1)!.action, 'consult_cancel');
  answer(call, 'consult_cancel', { ok: true });
  await call.wait(2000);
  t.same(phases(call), ['begun', 'failed: declined']);
  t.equal(call.spoken.at(-1), 'Nobody is free.');
  t.equal(call.report, undefined);

  const refused = fakeCall({ plan: warmPlan({ on_failure: 'hangup' }) });
  await refused.wait(1600);
  command(refused, 'transfer', { destination_id: 'sales' });
  await refused.wait(40);
  answer(refused, 'consult', { ok: false, code: 'no_number' });
  await refused.settle();
  answer(refused, 'consult_cancel', { ok: true });
  await refused.wait(3000);
  t.same(phases(refused), ['begun', 'failed: no_number']);
  t.match(refused.report, { ended_by: 'agent', hangup_reason: 'agent_hangup' });
});

void t.test('nobody waits for ever, and nobody is called for a caller who waits no more', async (t) => {
  const call = await waiting();
  await call.wait(consultLimitMs(20));
  t.equal(asked(call).at(-1)!.action, 'consult_cancel');
  // The control plane is gone.
  await call.wait(15_100);
  t.same(phases(call), ['begun', 'failed: timeout']);
  t.notOk(call.types().includes('stalled'), 'nothing else had to see to it');

  const ended = await waiting();
  command(ended, 'end', { ended_by: 'api', hangup_reason: 'api_hangup' });
  await ended.settle();
  t.same(
    asked(ended).map(({ action }) => action),
    ['consult', 'consult_cancel', 'hangup'],
  );
  t.match(ended.report, { hangup_reason: 'api_hangup' });
});

void t.test('a stream that ends is a caller who has hung up, or is with the other one', async (t) => {
  for (const [outcome, reason] of [
    [{ ok: true }, { ended_by: 'caller', hangup_reason: 'caller_hangup' }],
    [
      { ok: false, code: 'bridged' },
      { ended_by: 'agent', hangup_reason: 'transferred' },
    ],
  ] as const) {
    const call = await waiting();
    call.phone.listener.onGone({ by: 'caller', lost: false });
    await call.settle();
    t.equal(asked(call).at(-1)!.action, 'consult_cancel');
    answer(call, 'consult_cancel', outcome);
    await call.settle();
    t.match(call.report, reason);
  }
});

void t.test('a summary is thought of, or in its place the text is told', async (t) => {
  const says: LlmScript = () => ({ events: [{ type: 'text', text: 'Ada wants a boat. She is in' }] });
  const call = await waiting({ brief_to_target: 'summary' }, says);
  t.equal(asked(call)[0]!.brief, 'Ada wants a boat.', 'a sentence that was cut is left out');
  t.match(call.requests.at(-1)!.messages.at(-1), { role: 'user', content: /in American English/ });
  t.same(call.requests.at(-1)!.tools, []);
  t.notOk(
    call.texts().some((text) => text.includes('boat')),
    'the caller hears nothing of it',
  );

  const silent = await waiting({ brief_to_target: 'none' }, says);
  t.equal(asked(silent)[0]!.brief ?? '', '', 'or nothing');

  const never: LlmScript = () => ({ events: [], afterMs: 60_000 });
  const slow = fakeCall({ plan: warmPlan({ brief_to_target: 'summary' }), llm: never });
  await slow.wait(1600);
  command(slow, 'transfer', { destination_id: 'sales' });
  await slow.wait(5000);
  t.same(asked(slow), []);
  await slow.wait(1200);
  t.match(asked(slow), [{ action: 'consult', brief: 'Ada wants to buy.' }]);
});

void t.test('a summary that the agent may not say is not told: the text is', async (t) => {
  for (const [verdict, brief] of [
    ['1', 'Ada wants to buy.'],
    ['0', 'Ada wants a boat.'],
  ]) {
    const plan = warmPlan({ brief_to_target: 'summary' });
    plan.agent.config.guardrails.blocked_topics = ['boats'];
    plan.agent.config.filler.enabled = false;
    const judged: string[] = [];
    const call = fakeCall({
      plan,
      llm: ({ cacheKey, messages }) => {
        const asksVerdict = cacheKey.endsWith(':blocked_topics');
        if (asksVerdict)
          judged.push((JSON.parse(messages[1]!.content) as { about_to_say: string }).about_to_say);
        return { events: [{ type: 'text', text: asksVerdict ? verdict! : 'Ada wants a boat.' }] };
      },
    });
    await call.wait(1600);
    command(call, 'transfer', { destination_id: 'sales' });
    await call.wait(400);
    t.same(judged, ['Ada wants a boat.']);
    t.equal(asked(call)[0]!.brief, brief);
    t.same(
      call.events.filter(({ type }) => type === 'guardrail').map(({ data }) => data['verdict']),
      verdict === '1' ? ['refused'] : [],
    );
    call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
  }
});

void t.test(
  'the caller hears the audio of the destination again and again, and no words of it',
  async (t) => {
    const samples = new Uint8Array(8000 * 2).fill(0x11);
    const plan = wirePlan((wire, config) => {
      wire.agent.greeting = '';
      wire.assets = { aud_1: { sha256: '0'.repeat(64), duration_ms: 1000, transcript: null } };
      config.transfer.destinations = [salesDestination({ mode: 'warm', hold_audio_asset_id: 'aud_1' })];
    });
    const call = fakeCall({ plan, audio: () => Promise.resolve({ samples, sampleRate: 8000 }) });
    await call.wait(100);
    command(call, 'transfer', { destination_id: 'sales' });
    await call.wait(5000);
    t.ok(call.phone.playedMs > 4000, `${call.phone.playedMs} ms were heard of a sound of one second`);
    result(call, 'declined');
    await call.settle();
    answer(call, 'consult_cancel', { ok: true });
    await call.wait(3000);
    t.equal(call.phone.bufferedMs, 0, 'it is over');
    t.same(call.texts(), ['agent: Nobody is free.']);
    call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
    t.ok((await call.call.ended).agent_talk_ms < 2000, 'the agent has talked for three words');

    const without = fakeCall({ plan });
    await without.wait(100);
    command(without, 'transfer', { destination_id: 'sales' });
    await without.wait(200);
    t.match(
      without.events.filter(({ type }) => type === 'warning'),
      [{ data: { code: 'background_audio_unavailable' } }],
    );
  },
);

// ---- the call to who is to take the caller ----

function targetPlan(change: Partial<NonNullable<ReturnType<typeof wirePlan>['consult']>> = {}) {
  return wirePlan((plan) => {
    plan.direction = 'outbound';
    plan.agent.greeting = '';
    plan.consult = { transfer_id: 't-1', extension: null, brief: 'Ada wants to buy.', ...change };
    if (plan.consult.extension === null) plan.answer_detection = { deadline_ms: 6000, carrier: 'async' };
  });
}

/** As it is given to the voice. */
const QUESTION = 'Somebody is on the line for you. To take the call, press one or say yes.';

/** Somebody who has answered and was asked. */
async function toldTarget(): Promise<FakeCall> {
  const call = fakeCall({ plan: targetPlan() });
  await call.hears('Sales, hello?');
  await call.wait(12_000);
  t.equal(call.spoken.join(' '), `Ada wants to buy. ${QUESTION}`);
  return call;
}

void t.test('whom a caller waits for is told of them, and takes them by a yes or a key', async (t) => {
  for (const says of ['yes', 'key'] as const) {
    const call = await toldTarget();
    if (says === 'yes') await call.hears('Yes please.');
    else call.phone.listener.onDtmf('1');
    await call.settle();
    t.match(asked(call), [{ action: 'bridge', args: { transfer_id: 't-1' } }]);
    if (says === 'yes') call.phone.listener.onGone({ by: 'caller', lost: true });
    answer(call, 'bridge', { ok: true });
    await call.settle();
    t.match(call.report, { ended_by: 'agent', hangup_reason: 'transferred' });
    t.equal(asked(call).length, 1, 'nobody is hung up');
    t.equal(call.requests.length, 0, 'no model has a part in it');
  }
});

void t.test('what is said of the caller is masked in the record of the call to the target', async (t) => {
  const plan = targetPlan({ brief: 'Ada wants to buy. Her number is 415 555 2671.' });
  plan.redaction = { kinds: ['phone_number'], before_llm: false };
  const call = fakeCall({ plan });
  await call.hears('Sales, hello?');
  await call.wait(16_000);
  t.match(call.spoken.join(' '), /four one five/, 'the target hears it');
  call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
  await call.call.ended;
  for (const all of [call.events, call.saved, call.report]) t.notMatch(JSON.stringify(all), /2671/);
  t.match(call.texts().join(), /Her number is \[phone_number\]/);
});

void t.test('a key is taken while the briefing is said', async (t) => {
  const call = fakeCall({ plan: targetPlan() });
  await call.hears('Hello?');
  await call.wait(2000);
  call.phone.listener.onDtmf('1');
  await call.settle();
  t.equal(asked(call).at(-1)?.action, 'bridge');
  answer(call, 'bridge', { ok: false, code: 'not_wanted' });
  await call.settle();
  t.match(call.report, { ended_by: 'system', failure_reason: 'carrier_error' });
  t.equal(asked(call).at(-1)!.action, 'hangup');
});

void t.test('a no, an unclear answer and silence', async (t) => {
  const no = await toldTarget();
  await no.hears('No.');
  await no.settle();
  t.match(no.report, { ended_by: 'caller', hangup_reason: 'caller_hangup' });

  const unclear = await toldTarget();
  await unclear.hears('Who is it then?');
  await unclear.wait(12_000);
  t.equal(unclear.spoken.join(' '), [1, 2].map(() => `Ada wants to buy. ${QUESTION}`).join(' '));
  t.equal(unclear.report, undefined);

  const silent = await toldTarget();
  await silent.wait(70_000);
  t.equal(silent.spoken.filter((said) => said.includes('press one')).length, 3);
  t.match(silent.report, { ended_by: 'system', hangup_reason: 'silence' });
  t.notOk(silent.types().includes('stalled'));
});

void t.test('a machine is told nothing', async (t) => {
  const call = fakeCall({ plan: targetPlan() });
  await call.hears('Please leave a message after the tone.', 2000);
  await call.wait(1000);
  t.match(call.report, { hangup_reason: 'voicemail' });
  t.same(call.spoken, []);
});

void t.test('an extension is pressed first, in the way in which the line takes keys', async (t) => {
  const call = fakeCall({ plan: targetPlan({ extension: 'W12w3' }) });
  await call.wait(1600);
  t.same(call.phone.sentDigits, ['12', '3']);
  await call.hears('Bob here.');
  await call.wait(12_000);
  t.equal(call.spoken.join(' '), `Ada wants to buy. ${QUESTION}`);

  const tones = fakeCall({ plan: targetPlan({ extension: '12' }), dtmfOut: 'tones' });
  await tones.wait(1000);
  t.ok(tones.phone.sent.length > 0, 'tones are audio');
  await tones.wait(20_000);
  t.match(tones.spoken.join(' '), QUESTION, 'nobody has said a word, and is told all the same');
});
