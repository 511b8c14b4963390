import t from 'tap';
import type { Usage } from '@parley/shared/contracts/usage';
import { NOTHING_USED } from '@parley/shared/contracts/call-prices';
import { usageByAgent } from './usage-by-agent.ts';

const used = (tts_characters: number): Usage => ({ ...NOTHING_USED, tts_characters });
const characters = (session: Parameters<typeof usageByAgent>[0]) =>
  [...usageByAgent(session)].map(([agent, { tts_characters }]) => [agent, tts_characters]);

void t.test('what was used belongs to whoever held the call, over all legs', (t) => {
  t.same(characters({ usage: used(7) }), [[null, 7]]);
  t.same(characters({ usage: null, hand_overs: [] }), [[null, 0]]);
  const hand_overs = [
    { handover_id: 'to-b', leg: 0 },
    { handover_id: 'to-c', leg: 1 },
  ];
  const toB = { usage: used(10), hand_overs: [{ handover_id: 'to-b', usage: used(4) }] };
  const toC = { usage: used(5), hand_overs: [{ handover_id: 'to-c', usage: used(2) }] };
  const all = { '0': toB, '1': toC, '2': { usage: used(1) } };
  t.same(characters({ usage: used(16), legs: all, hand_overs }), [
    [null, 4],
    ['to-b', 8],
    ['to-c', 4],
  ]);
  const lost = { '1': toC, '2': { usage: used(1) } };
  const withoutFirst = [
    ['to-b', 2],
    ['to-c', 4],
  ];
  t.same(characters({ usage: used(6), legs: lost, hand_overs }), withoutFirst, 'a leg that never reported');
  const failed = { '0': { usage: used(10) } };
  t.same(characters({ usage: used(10), legs: failed, hand_overs }), [[null, 10]], 'it came too late for it');
  t.end();
});
