import { useQueryClient } from '@tanstack/react-query';
import type { components } from '../../api/schema.d.ts';

type Webhooks = components['schemas']['AgentWebhooks'];
export type StartCall = Webhooks['start_call'];
export type CallEnded = Webhooks['call_ended'];

/** Gives the function that puts saved webhooks of an agent in place of those shown. */
export function useSettings(agentId: string) {
  const queries = useQueryClient();
  return (saved: Webhooks) => queries.setQueryData(['agent', agentId, 'webhooks'], saved);
}
