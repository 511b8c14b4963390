import t from 'tap';
import { transferDestinationSchema } from '@parley/shared/contracts/agent-config';
import { BUILT_IN_TOOLS, RESERVED_TOOL_NAMES } from '@parley/shared/contracts/built-in-tools';
import { CALL_EVENTS, NEVER_DROPPED } from '@parley/shared/contracts/call-events';
import { offeredTools, runBuiltIn, type BuiltInContext } from './built-in-tools.ts';
import { wirePlan } from './fakes.ts';

function context(allowed: boolean): BuiltInContext & { done: string[] } {
  const done: string[] = [];
  const plan = wirePlan((wire, config) => {
    wire.system.caller_number = allowed ? '+14155550100' : null;
    config.memory.write = allowed;
    wire.knowledge = { base_ids: allowed ? ['kbs_1'] : [] };
    config.knowledge.mode = 'tool';
    config.end_call.agent_may_end = allowed;
    config.dtmf.send = allowed;
    if (allowed) {
      wire.languages = { 'de-DE': { stt: wire.stt, tts: wire.tts, greeting: null } };
      const phone = { type: 'phone', phone_number: '+14155550100' };
      const agent = { type: 'agent', agent_id: 'agt_1' };
      config.transfer.destinations = [
        transferDestinationSchema.parse({ id: 'sales', description: 'Buys', target: phone }),
        transferDestinationSchema.parse({ id: 'other', description: 'Other', target: agent }),
      ];
    }
  });
  return {
    plan,
    participant: { carrierCommands: true, dtmfOut: 'socket' },
    controls: {
      endAfterSpeech: () => void done.push('end'),
      transferAfterSpeech: ({ id }) => void done.push(id),
      setLanguage: (tag) => done.push(tag) > 0,
      sendDtmf: async (digits) => done.push(digits) > 0,
      searchKnowledge: async (query) => void done.push(query),
      apology: () => 'Sorry.',
      emitTool: (type, data) => void done.push(`${type} ${JSON.stringify(data)}`),
      toolTook() {},
    },
    onTransferFailed: (code) => void done.push(code),
    done,
  };
}
void t.test('an agent that may has every built-in tool, and each is run', async (t) => {
  const all = context(true);
  const offered = offeredTools(all);
  t.same(
    offered.map(({ name }) => name),
    Object.keys(BUILT_IN_TOOLS),
  );
  t.match(offered[1], {
    description:
      'Transfers the caller to a person, or to another agent. Destinations: sales: Buys; other: Other',
  });
  t.match(await runBuiltIn('send_dtmf', { digits: '12#' }, all), { ok: true });
  t.match(await runBuiltIn('transfer_call', { destination_id: 'sales' }, all), { ok: true, final: true });
  t.match(await runBuiltIn('transfer_call', { destination_id: 'other' }, all), { ok: true, final: true });
  t.match(await runBuiltIn('transfer_call', { destination_id: 'nobody' }, all), {
    code: 'unknown_destination',
  });
  t.match(await runBuiltIn('end_call', {}, all), { ok: true, final: true });
  t.match(await runBuiltIn('set_language', { language: 'de-DE' }, all), { ok: true });
  t.match(await runBuiltIn('set_language', {}, all), { code: 'unknown_language' });
  t.same(all.done, ['12#', 'sales', 'other', 'end', 'de-DE']);
});

void t.test('where no carrier can transfer the caller, other agents alone are destinations', async (t) => {
  const all = context(true);
  const web = { ...all, participant: { carrierCommands: false, dtmfOut: 'none' as const } };
  t.match(offeredTools(web).find(({ name }) => name === 'transfer_call')?.parameters, {
    properties: { destination_id: { enum: ['other'] } },
  });
  t.match(await runBuiltIn('transfer_call', { destination_id: 'sales' }, web), {
    code: 'unknown_destination',
  });
});

void t.test('what is to be remembered, and who is not to be called, is told and not lost', async (t) => {
  const all = context(true);
  const cases: [string, Record<string, unknown>, string | undefined][] = [
    ['remember', { kind: 'fact', content: ' Has two dogs. ' }, '{"kind":"fact","content":"Has two dogs."}'],
    ['remember', { kind: 'gossip', content: 'Has two dogs.' }, undefined],
    ['remember', { kind: 'fact', content: ' ' }, undefined],
    ['remember', { kind: 'fact' }, undefined],
    ['do_not_call', { reason: 'Too many calls.' }, '{"reason":"Too many calls."}'],
    ['do_not_call', { reason: 'x'.repeat(600) }, JSON.stringify({ reason: 'x'.repeat(500) })],
    ['do_not_call', {}, undefined],
    ['do_not_call', { reason: 7 }, undefined],
  ];
  for (const [name, args, told] of cases) {
    all.done.length = 0;
    const result = await runBuiltIn(name, args, all);
    t.match(result, told === undefined ? { ok: false, code: 'invalid_arguments' } : { ok: true });
    t.same(all.done, told === undefined ? [] : [`${name} ${told}`]);
    if (told === undefined) continue;
    t.ok(NEVER_DROPPED.has(name));
    t.ok(CALL_EVENTS[name as 'remember'].data.safeParse(JSON.parse(told)).success);
  }
  const onWeb = { ...all, plan: { ...all.plan, channel: 'web' as const } };
  t.match(await runBuiltIn('do_not_call', { reason: 'No.' }, onWeb), { code: 'unknown_tool' });
});

void t.test('keys are offered, and pressed, where the line takes them', async (t) => {
  const digits = { digits: '1' };
  for (const dtmfOut of ['socket', 'carrier_command', 'tones', 'none'] as const) {
    const line = { ...context(true), participant: { carrierCommands: true, dtmfOut } };
    const offered = offeredTools(line).some(({ name }) => name === 'send_dtmf');
    t.equal(offered, dtmfOut !== 'none', dtmfOut);
    t.match(await runBuiltIn('send_dtmf', digits, line), offered ? { ok: true } : { code: 'unknown_tool' });
  }
});

void t.test('one that may not has none; their names and the planned ones are taken', async (t) => {
  t.same(offeredTools(context(false)), []);
  for (const name of [...Object.keys(BUILT_IN_TOOLS), 'search_knowledge', 'toString'])
    t.match(await runBuiltIn(name, {}, context(false)), { ok: false, code: 'unknown_tool' }, name);
  for (const name of [...Object.keys(BUILT_IN_TOOLS), 'search_knowledge'])
    t.ok(RESERVED_TOOL_NAMES.has(name), name);
});
