import type { components } from '../../api/schema.d.ts';

type Agent = Pick<components['schemas']['Agent'], 'config' | 'flow_definition'>;

interface Destination {
  id: string;
  description?: string;
  target: { type: string; phone_number?: string };
}

/**
 * Whom a call may be brought to: the destinations of its agent, and those that the nodes of its flow bring along.
 * @param isCarried whether a carrier holds the call; others reach no telephone
 */
export function destinationsOf(
  agent: Agent | undefined,
  isCarried: boolean,
): { value: string; label: string }[] {
  const nodes = (agent?.flow_definition as { nodes?: { destination?: Destination | null }[] } | null)?.nodes;
  const all = [
    ...((agent?.config.transfer?.destinations ?? []) as Destination[]),
    ...(nodes ?? []).flatMap(({ destination }) => (destination ? [destination] : [])),
  ];
  const reached = all.filter(({ target }) => isCarried || target.type === 'agent');
  return [...new Map(reached.map((one) => [one.id, one])).values()].map(({ id, description, target }) => ({
    value: id,
    label: [id, description, target.phone_number].filter((part) => part != null && part !== '').join(' · '),
  }));
}
