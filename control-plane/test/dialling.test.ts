import t from 'tap';
import { openDiallingWorld } from './fixtures/dialling-world.ts';
import { TestGateway } from './fixtures/test-gateway.ts';

const world = await openDiallingWorld(t);
const { carriers, media, plane, passUntil, becomes, news, session } = world;
const gateway = new TestGateway(plane);
const { bus } = plane;
const inbox = await gateway.commands();
t.teardown(() => inbox.close());

for (const carrier of ['plivo', 'twilio', 'telnyx'] as const)
  void t.test(`${carrier}: a call is dialled, answered, and its media flow`, async (t) => {
    const line = await world.line({ carrier });
    const machine = { verdict: 'machine', afterMs: 20_000 } as const;
    carriers[carrier].setTelephones(() => ({ does: 'answer', afterMs: 2000, machine }));
    const before = media.sockets.length;
    const queued = await world.order(line);
    t.match(queued, {
      ...{ status: 'queued', direction: 'outbound', channel: 'telephony', provider: carrier },
      ...{ from_number: line.number, to_number: '+442071230000', slot_scopes: [] },
    });
    const call = await carriers[carrier].dialledCall();
    t.equal(await bus.slots.count('api_dials'), 1, 'it is being dialled');
    const stream = await passUntil('the stream', () => Promise.resolve(media.sockets[before]));
    await passUntil('the answer', async () => (await session(queued._id)).dial!.answered_at);
    t.match(await session(queued._id), { carrier_call_id: call.callId, dial: { state: 'known' } });
    t.equal(await bus.slots.count('api_dials'), 0, 'nobody waits for an answer any more');
    t.equal(await bus.slots.count(`account:${line.accountId}`), 1, 'the call goes on');

    const ticket = stream.path.split('/').at(-1)!;
    const plan = await gateway.redeem({ ticket, start: { carrier, carrier_call_id: call.callId } });
    t.equal(plan.status, 200);
    await plane.app.services.callEvents.handle(gateway.started(plan.body));
    t.match(await session(queued._id), { status: 'in_progress' });
    t.same(plan.body.answer_detection, { deadline_ms: 6000, carrier: 'async' });
    const verdict = await passUntil('the verdict of machine detection', () =>
      Promise.resolve(
        inbox.all.find(({ type, session_id: id }) => type === 'answer_verdict' && id === queued._id),
      ),
    );
    t.same(verdict.args, { source: 'carrier', class: 'machine' });
    await plane.app.services.callEvents.handle(gateway.ended(plan.body));
    t.match(await session(queued._id), { status: 'ended', dial: { state: 'gone' } });
    t.equal(await bus.slots.count(`account:${line.accountId}`), 0);
    t.match(await news(queued), ['placed:null', 'answered:null']);
    call.hangUp();
    await call.ended;
  });

void t.test('why nobody answered is told', async (t) => {
  const line = await world.line();
  for (const [does, reason] of [
    ['busy', 'busy'],
    ['refuse', 'rejected'],
    ['ring', 'no_answer'],
    ['invalid', 'invalid_number'],
  ] as const) {
    carriers.plivo.setTelephones(() => ({ does, afterMs: 1000 }));
    const failed = await becomes(await world.order(line), 'failed');
    t.match(failed, { failure_reason: reason, ended_by: 'carrier' }, does);
    await passUntil('the end of the dial', async () => (await session(failed._id)).dial!.state === 'gone');
    t.equal(await bus.slots.count(`account:${line.accountId}`), 0);
  }
});
