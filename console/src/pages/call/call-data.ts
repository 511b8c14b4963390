import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { api, ApiError, take } from '../../api/client.ts';
import { readAll } from '../../api/list-pages.ts';
import type { components } from '../../api/schema.d.ts';
import { DELIVERIES } from '../../components/webhook-delivery.tsx';
import { EVENTS_PER_PAGE, readEvents } from './log-pages.ts';
import type { LogEvent, LogTurn } from './session-log.ts';

export type Session = components['schemas']['SessionDetail'];
export type AnalysisResult = components['schemas']['AnalysisResult'];
export type Delivery = components['schemas']['WebhookDelivery'];

const byId = (session_id: string) => ({ params: { path: { session_id } } });

export function useSession(sessionId: string, refetchInterval: number | false = false, enabled = true) {
  return useQuery({
    enabled,
    queryKey: ['session', sessionId],
    queryFn: () => take(api.GET('/v1/sessions/{session_id}', byId(sessionId))),
    refetchInterval,
  });
}

/** Asks again for what is known of a call whenever it, or what follows its end, has come further. */
export function useFreshAfterStep(session: Session | undefined): void {
  const queries = useQueryClient();
  const id = session?.session_id;
  const step = session && `${id} ${session.status} ${session.detail.post_call.status}`;
  const before = useRef(step);
  useEffect(() => {
    const isFirst = id === undefined || before.current?.startsWith(id) !== true;
    if (before.current === step) return;
    before.current = step;
    if (!isFirst) void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey.includes(id) });
  }, [queries, id, step]);
}

export function useTranscript(sessionId: string) {
  return useQuery({
    queryKey: ['transcript', sessionId],
    queryFn: async (): Promise<readonly LogTurn[]> => {
      const params = { path: { session_id: sessionId }, query: { words: true } };
      const answer = await take(api.GET('/v1/sessions/{session_id}/transcript', { params }));
      // Text is what other formats are answered in.
      return typeof answer === 'string' ? [] : answer.items;
    },
  });
}

/** All events; asked for again, only those that are new. */
export function useEvents(sessionId: string, refetchInterval: number | false = false, enabled = true) {
  return useQuery({
    enabled,
    queryKey: ['session-events', sessionId],
    queryFn: ({ client, queryKey, signal }) =>
      readEvents(client.getQueryData<readonly LogEvent[]>(queryKey) ?? [], async (after_index) => {
        const query = { limit: EVENTS_PER_PAGE, ...(after_index !== undefined && { after_index }) };
        const page = await take(
          api.GET('/v1/sessions/{session_id}/events', {
            params: { path: { session_id: sessionId }, query },
            signal,
          }),
        );
        // Text is what a stream of events is answered in.
        return typeof page === 'string' ? [] : (page.items as readonly LogEvent[]);
      }),
    refetchInterval,
    structuralSharing: false,
  });
}

/** The recording; null: there is none. Asked for where the session names one, and again until it is ready. */
export function useRecording({ session_id: sessionId, detail }: Session) {
  return useQuery({
    enabled: detail.recording_id !== null,
    queryKey: ['recording', sessionId],
    queryFn: async () => {
      try {
        return await take(api.GET('/v1/sessions/{session_id}/recording', byId(sessionId)));
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
    refetchInterval: ({ state }) =>
      state.data && !['ready', 'failed', 'deleted'].includes(state.data.status) ? 3000 : false,
  });
}

const UNDONE = ['pending', 'running', 'retrying'];

export function useAnalyses(sessionId: string) {
  return useQuery({
    queryKey: ['session-analyses', sessionId],
    queryFn: async () => (await take(api.GET('/v1/sessions/{session_id}/analyses', byId(sessionId)))).items,
    refetchInterval: ({ state }) =>
      state.data?.some(({ status }) => UNDONE.includes(status)) ? 2000 : false,
  });
}

export function useDeliveries(sessionId: string, agentId: string | null) {
  return useQuery({
    queryKey: [DELIVERIES, 'session', sessionId],
    enabled: agentId !== null,
    queryFn: () =>
      readAll((page) =>
        take(
          api.GET('/v1/agents/{agent_id}/webhook-deliveries', {
            params: { path: { agent_id: agentId! }, query: { session_id: [sessionId], ...page } },
          }),
        ),
      ),
    refetchInterval: ({ state }) =>
      state.data?.some(({ status }) => UNDONE.includes(status)) ? 2000 : false,
  });
}

export function useAgent(agentId: string | null) {
  return useQuery({
    queryKey: ['agent', agentId],
    enabled: agentId !== null,
    staleTime: 60_000,
    queryFn: () => take(api.GET('/v1/agents/{agent_id}', { params: { path: { agent_id: agentId! } } })),
  });
}
