import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { ApiError, api, take } from '../../api/client.ts';
import { useDescription } from '../../api/description.ts';
import type { components } from '../../api/schema.d.ts';
import { placeErrors } from '../../components/schema-form/form-errors.ts';
import type { FoundError } from '../../components/schema-form/form-errors.ts';
import { changedPaths, patchBetween, patched, setAt } from '../../components/schema-form/form-value.ts';
import type { Json, Path } from '../../components/schema-form/form-value.ts';
import { draftFromElsewhere, isDraftOf, liveVersionOf, readDraft, writeDraft } from './agent-draft.ts';
import type { AgentDraft } from './agent-draft.ts';
import { agentForm, contentOf, sectionsOf } from './agent-form.ts';

type PatchAgent = components['schemas']['PatchAgentRequest'];
export type Traffic = components['schemas']['AgentTrafficOutput'];

const VALIDATE_AFTER_MS = 400;

/** How often it is looked whether somebody else has saved, while there are changes. */
const LOOK_EVERY_MS = 10_000;

/** @param isEdited whether it is looked now and then what others save */
export function useAgent(agentId: string, isEdited = false) {
  return useQuery({
    queryKey: ['agent', agentId],
    refetchInterval: isEdited && LOOK_EVERY_MS,
    queryFn: () => take(api.GET('/v1/agents/{agent_id}', { params: { path: { agent_id: agentId } } })),
  });
}

export function useTraffic(agentId: string) {
  return useQuery({
    queryKey: ['agent', agentId, 'traffic'],
    queryFn: () =>
      take(api.GET('/v1/agents/{agent_id}/traffic', { params: { path: { agent_id: agentId } } })),
  });
}

/** An agent as a version has it, with every default. */
export function useAgentVersion(agentId: string, version: number | undefined) {
  return useQuery({
    queryKey: ['agent', agentId, 'version', version],
    queryFn: () =>
      take(
        api.GET('/v1/agents/{agent_id}', {
          params: { path: { agent_id: agentId }, query: version === undefined ? {} : { version } },
        }),
      ),
    enabled: version !== undefined,
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  });
}

/** Makes a version the one that all callers get. */
export function usePublish(agentId: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (traffic: Traffic) =>
      take(
        api.PUT('/v1/agents/{agent_id}/traffic', { params: { path: { agent_id: agentId } }, body: traffic }),
      ),
    onSuccess(traffic) {
      queries.setQueryData(['agent', agentId, 'traffic'], traffic);
      // They are told of the versions that get callers now. Nobody waits for them: who publishes is told at once.
      void queries.invalidateQueries({ queryKey: ['agent', agentId, 'results'] });
    },
  });
}

/** Everything that the editor of an agent shows and does. */
export function useAgentEditor(agentId: string) {
  const queries = useQueryClient();
  const description = useDescription();
  const [draft, setDraft] = useState<AgentDraft | null>(() => readDraft(localStorage, agentId));
  const agent = useAgent(agentId, draft !== null);
  const traffic = useTraffic(agentId);
  const liveVersion = agent.data && traffic.data && liveVersionOf(agent.data.version, traffic.data);
  const live = useAgentVersion(agentId, liveVersion === agent.data?.version ? undefined : liveVersion);
  useEffect(() => {
    // Another tab has written.
    const follow = ({ key }: StorageEvent) => {
      if (!isDraftOf(agentId, key)) return;
      const kept = readDraft(localStorage, agentId);
      setDraft((own) => draftFromElsewhere(own, kept));
      // It may have been saved there, and published.
      if (kept === null) void queries.invalidateQueries({ queryKey: ['agent', agentId] });
    };
    addEventListener('storage', follow);
    return () => removeEventListener('storage', follow);
  }, [agentId, queries]);

  const form = useMemo(
    () => description.data && agentForm(description.data.components.schemas),
    [description.data],
  );
  const sections = useMemo(() => (form ? sectionsOf(form) : []), [form]);
  const base = useMemo(() => agent.data && contentOf(agent.data), [agent.data]);
  const value = useMemo(
    () => (form && base ? (patched(base, draft?.patch, form) as Json) : undefined),
    [form, base, draft],
  );
  const liveValue = useMemo(() => {
    const from = liveVersion === agent.data?.version ? agent.data : live.data;
    return from && contentOf(from);
  }, [agent.data, live.data, liveVersion]);

  const keep = (next: AgentDraft | null) => {
    writeDraft(localStorage, agentId, next);
    setDraft(next);
  };
  const change = (path: Path, next: unknown) => {
    if (!form || !base || !agent.data) return;
    const patch = patchBetween(base, setAt(value, path, next), form) as Json | undefined;
    keep(patch ? { version: draft?.version ?? agent.data.version, patch } : null);
  };

  const [settled] = useDebouncedValue(draft, VALIDATE_AFTER_MS);
  const validation = useQuery({
    queryKey: ['agent', agentId, 'validation', agent.data?.version, settled?.patch],
    queryFn: ({ signal }) =>
      take(
        api.POST('/v1/agents/{agent_id}/validate', {
          params: { path: { agent_id: agentId } },
          body: settled!.patch as PatchAgent,
          signal,
        }),
      ),
    enabled: settled !== null,
    gcTime: 0,
    retry: false,
  });

  const save = useMutation({
    async mutationFn() {
      const params = {
        path: { agent_id: agentId },
        header: { 'If-Match': `"${agent.data!.version}"` },
      };
      return take(api.PATCH('/v1/agents/{agent_id}', { params, body: draft!.patch as PatchAgent }));
    },
    async onSuccess(saved) {
      queries.setQueryData(['agent', agentId], saved);
      keep(null);
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['agents'] }),
        queries.invalidateQueries({ queryKey: ['agent', agentId, 'versions'] }),
      ]);
    },
    // Somebody else has saved: what they changed is loaded below what was changed here.
    onError: (error) => (error instanceof ApiError && error.status === 409 ? agent.refetch() : undefined),
  });

  const found = useMemo((): FoundError[] => {
    const refused = save.error instanceof ApiError ? toFound(save.error) : [];
    if (draft === null) return [];
    return settled === draft && validation.data ? validation.data.errors : refused;
  }, [draft, settled, validation.data, save.error]);
  const errors = useMemo(
    () => (form ? placeErrors(found, form, value) : { placed: new Map<string, string[]>(), elsewhere: [] }),
    [found, form, value],
  );
  const changed = useMemo(() => (form ? changedPaths(base, value, form) : []), [form, base, value]);
  const unpublished = useMemo(
    () => (form && liveValue ? changedPaths(liveValue, value, form) : []),
    [form, liveValue, value],
  );

  return {
    agent,
    traffic,
    liveVersion,
    form,
    sections,
    value,
    liveValue,
    draft,
    changed,
    unpublished,
    errors,
    isChecking: draft !== null && (settled !== draft || validation.isFetching),
    failure: agent.error ?? description.error ?? traffic.error,
    change,
    discard: () => keep(null),
    save,
  };
}

export type AgentEditor = ReturnType<typeof useAgentEditor>;

function toFound(error: ApiError): FoundError[] {
  return error.fields.map(({ path, message }) => ({ loc: ['body', ...path], msg: message }));
}
