import { useDebouncedValue } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { ApiError, api, take } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { isEqual } from '../../components/schema-form/form-value.ts';
import type { Json } from '../../components/schema-form/form-value.ts';
import { readDraft, writeDraft } from '../agents/agent-draft.ts';
import { useAgent, useAgentVersion } from '../agents/use-agent-editor.ts';
import { errorsOf, readFlow } from './flow-graph.ts';
import type { Flow } from './flow-graph.ts';
import { begin, commit, redo, undo } from './flow-history.ts';
import type { History } from './flow-history.ts';
import { placed } from './flow-layout.ts';
import { changedMeanwhile } from './flow-meanwhile.ts';

/** Checked by the server: here it may be wrong. */
type FlowBody = NonNullable<components['schemas']['PatchAgentRequest']['flow_definition']> | null;

const VALIDATE_AFTER_MS = 500;

/** Kept beside the draft of the other settings. */
const draftId = (agentId: string) => `${agentId}.flow`;

/** Changes of a flow, and the version of the agent at which they began. */
interface FlowDraft {
  version: number;
  history: History<Flow | null>;
}

/** The flow of an agent: what is stored, what was changed here, and what the server finds wrong with it. */
export function useFlow(agentId: string) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState<FlowDraft | null>(() => {
    const kept = readDraft(localStorage, draftId(agentId));
    return kept && { version: kept.version, history: begin(readFlow(kept.patch['flow_definition'])) };
  });
  const agent = useAgent(agentId, draft !== null);
  const stored = useMemo(() => readFlow(agent.data?.flow_definition ?? null), [agent.data]);
  const shown = useMemo(() => stored && placed(stored), [stored]);
  const history = draft?.history ?? null;
  const flow = history ? history.present : shown;
  const isChanged = history !== null && !isEqual(history.present, stored);
  const isOutdated = draft !== null && agent.data !== undefined && draft.version < agent.data.version;
  const beginning = useAgentVersion(agentId, isOutdated ? draft.version : undefined);
  const began =
    isOutdated && beginning.data?.version === draft.version
      ? readFlow(beginning.data.flow_definition)
      : undefined;
  const meanwhile = isOutdated ? changedMeanwhile(began, stored) : null;

  const isOwn = !isOutdated || began === undefined || !isEqual(history?.present, began);
  useEffect(() => {
    // Nothing was changed here: what others have saved is shown.
    if (!isOwn) setDraft(null);
  }, [isOwn]);

  const keep = (next: History<Flow | null>) => {
    const isStored = isEqual(next.present, stored);
    const newest = agent.data?.version ?? 0;
    const version = isStored ? newest : (draft?.version ?? newest);
    setDraft({ version, history: next });
    const kept = isStored ? null : { version, patch: { flow_definition: next.present } };
    writeDraft(localStorage, draftId(agentId), kept);
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
      setDraft({ version: saved.version, history: begin(readFlow(saved.flow_definition)) });
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
    /** What was saved by others since the first change here; null: nothing. */
    meanwhile: isChanged ? meanwhile : null,
    /** The version at which the changes began. */
    began: draft?.version ?? 0,
    isChecking: isChanged && (settled !== flow || validation.isFetching),
    failure: agent.error ?? validation.error,
    change,
    undo: history && history.past.length > 0 ? () => keep(undo(history)) : undefined,
    redo: history && history.future.length > 0 ? () => keep(redo(history)) : undefined,
    discard() {
      writeDraft(localStorage, draftId(agentId), null);
      setDraft(null);
    },
    save,
  };
}

const EMPTY: Json = { start_node_id: '', nodes: [], edges: [] };
