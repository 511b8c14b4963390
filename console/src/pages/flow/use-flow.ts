import { useDebouncedValue } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { ApiError, api, take } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { isEqual } from '../../components/schema-form/form-value.ts';
import type { Json } from '../../components/schema-form/form-value.ts';
import { readDraft, writeDraft } from '../agents/agent-draft.ts';
import { useAgent } from '../agents/use-agent-editor.ts';
import { errorsOf, readFlow } from './flow-graph.ts';
import type { Flow } from './flow-graph.ts';
import { begin, commit, redo, undo } from './flow-history.ts';
import type { History } from './flow-history.ts';
import { placed } from './flow-layout.ts';

/** Checked by the server: here it may be wrong. */
type FlowBody = NonNullable<components['schemas']['PatchAgentRequest']['flow_definition']> | null;

const VALIDATE_AFTER_MS = 500;

/** Kept beside the draft of the other settings. */
const draftId = (agentId: string) => `${agentId}.flow`;

/** The flow of an agent: what is stored, what was changed here, and what the server finds wrong with it. */
export function useFlow(agentId: string) {
  const queries = useQueryClient();
  const agent = useAgent(agentId);
  const stored = useMemo(() => readFlow(agent.data?.flow_definition ?? null), [agent.data]);
  const shown = useMemo(() => stored && placed(stored), [stored]);
  const [history, setHistory] = useState<History<Flow | null> | null>(() => {
    const draft = readDraft(localStorage, draftId(agentId));
    return draft ? begin(readFlow(draft.patch['flow_definition'])) : null;
  });
  const flow = history ? history.present : shown;
  const isChanged = history !== null && !isEqual(history.present, stored);

  const keep = (next: History<Flow | null>) => {
    setHistory(next);
    const isKept = isEqual(next.present, stored);
    const draft = isKept
      ? null
      : { version: agent.data?.version ?? 0, patch: { flow_definition: next.present } };
    writeDraft(localStorage, draftId(agentId), draft);
  };
  const change = (next: Flow | null, group: string | null = null) =>
    keep(commit(history ?? begin(flow), next, group));

  const [settled] = useDebouncedValue(flow, VALIDATE_AFTER_MS);
  const validation = useQuery({
    queryKey: ['agent', agentId, 'flow-validation', agent.data?.version, settled],
    queryFn: ({ signal }) =>
      take(
        api.POST('/v1/agents/{agent_id}/validate', {
          params: { path: { agent_id: agentId } },
          body: { flow_definition: settled as FlowBody },
          signal,
        }),
      ),
    enabled: isChanged,
    gcTime: 0,
    retry: false,
  });
  const save = useMutation({
    mutationFn: () =>
      take(
        api.PATCH('/v1/agents/{agent_id}', {
          params: { path: { agent_id: agentId }, header: { 'If-Match': `"${agent.data!.version}"` } },
          body: { flow_definition: flow as FlowBody },
        }),
      ),
    async onSuccess(saved) {
      queries.setQueryData(['agent', agentId], saved);
      writeDraft(localStorage, draftId(agentId), null);
      setHistory(begin(readFlow(saved.flow_definition)));
      await queries.invalidateQueries({ queryKey: ['agent', agentId, 'versions'] });
    },
    onError: (error) => (error instanceof ApiError && error.status === 409 ? agent.refetch() : undefined),
  });

  const found = useMemo(() => {
    if (!isChanged) return [];
    if (validation.data) return validation.data.errors;
    const refused = save.error instanceof ApiError ? save.error.fields : [];
    return refused.map(({ path, message }) => ({ loc: ['body', ...path], msg: message }));
  }, [isChanged, validation.data, save.error]);
  const errors = useMemo(() => errorsOf(flow ?? (EMPTY as Flow), found), [flow, found]);

  return {
    agent,
    flow,
    errors,
    isChanged,
    isChecking: isChanged && (settled !== flow || validation.isFetching),
    failure: agent.error ?? validation.error,
    change,
    undo: history && history.past.length > 0 ? () => keep(undo(history)) : undefined,
    redo: history && history.future.length > 0 ? () => keep(redo(history)) : undefined,
    discard() {
      writeDraft(localStorage, draftId(agentId), null);
      setHistory(null);
    },
    save,
  };
}

const EMPTY: Json = { start_node_id: '', nodes: [], edges: [] };
