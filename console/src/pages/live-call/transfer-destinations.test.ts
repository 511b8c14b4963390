import t from 'tap';
import { destinationsOf } from './transfer-destinations.ts';

void t.test('a call is brought to destinations of its agent and of its flow', (t) => {
  const agent = {
    config: {
      transfer: {
        destinations: [
          { id: 'sales', description: 'Sells', target: { type: 'phone', phone_number: '+14155550123' } },
          { id: 'billing', description: '', target: { type: 'agent', agent_id: 'agt_1' } },
        ],
      },
    },
    flow_definition: {
      nodes: [
        { destination: null },
        { destination: { id: 'desk', target: { type: 'phone', phone_number: '+14155550177' } } },
        { destination: { id: 'sales', target: { type: 'agent', agent_id: 'agt_2' } } },
      ],
    },
  } as never;
  t.same(
    destinationsOf(agent, true).map(({ value }) => value),
    ['sales', 'billing', 'desk'],
  );
  t.equal(destinationsOf(agent, true)[2]!.label, 'desk · +14155550177');
  t.same(
    destinationsOf(agent, false).map(({ value }) => value),
    ['billing', 'sales'],
    'who is in a browser reaches no telephone',
  );
  t.same(destinationsOf(undefined, true), []);
  t.end();
});
