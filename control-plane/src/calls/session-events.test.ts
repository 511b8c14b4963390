import t from 'tap';
import { CALL_EVENTS } from '@parley/shared/contracts/call-events';
import { readFeatures } from '../composition/unconnected.ts';
import { describeOperations } from '../http/openapi.ts';
import { sessionEventResponse } from './session-events.ts';

interface Described {
  oneOf?: { $ref: string }[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
  properties?: { data: { properties?: Record<string, unknown> } };
  description?: string;
}

const { components } = await readFeatures(({ routes }) =>
  describeOperations(routes, { url: 'http://localhost' }),
);
const schemas = components!.schemas as Record<string, Described>;
const union = schemas['SessionEvent']!;
const variant = (type: string) => schemas[union.discriminator!.mapping[type]!.split('/').at(-1)!]!;

void t.test('every event is described by its type, with what its data holds', async (t) => {
  // `words` pass to whoever follows a call, and are never stored.
  const shown = Object.keys(CALL_EVENTS).filter((type) => type !== 'cost' && type !== 'words');
  const types = [...shown, 'state', 'memory', 'webhook', 'dial', 'inbound_action', 'carrier_verdict'];
  t.equal(union.discriminator?.propertyName, 'type');
  t.same(Object.keys(union.discriminator!.mapping).sort(), types.sort());
  t.equal(union.oneOf?.length, types.length);
  for (const type of types) t.match(variant(type).description, /^[A-Z].*\.$/, type);
  t.hasStrict(variant('interruption').properties?.data.properties, { heard_ms: { type: 'number' } });
});

void t.test('what is not kept of an event is not described', async (t) => {
  t.notOk('text' in variant('turn').properties!.data.properties!);
  for (const name of ['turns', 'variables', 'metrics', 'usage'])
    t.notOk(name in variant('call_ended').properties!.data.properties!, name);
  for (const name of ['state', 'variables', 'trusted_variables'])
    t.notOk(name in variant('flow_node').properties!.data.properties!, name);
});

void t.test('an event of another version is shown as it came', async (t) => {
  const event = {
    id: 'evt_1',
    index: 1,
    at: '2026-01-01T00:00:00.000Z',
    offset_ms: 0,
    type: 'new',
    data: { a: 1 },
  };
  t.same(sessionEventResponse.parse(event), event);
  t.notOk(sessionEventResponse.safeParse({ ...event, data: 1 }).success);
});
