import { Alert, Badge, Button, Group, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { UseQueryResult } from '@tanstack/react-query';
import { Fragment, useState } from 'react';
import { api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Fields } from '../../components/fields.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { RefreshCw } from '../../components/icons.ts';
import { analysisFields } from './analysis-fields.ts';
import { clock } from './call-clock.ts';
import type { AnalysisResult, Session } from './call-data.ts';
import { isOver } from './session-log.ts';
import type { LogTurn } from './session-log.ts';

/** What the analyses made of the call, each value with the places that it was read from. */
export function AnalysisResults({
  session,
  results,
  turns,
  onShow,
}: {
  session: Session;
  results: UseQueryResult<AnalysisResult[]>;
  turns: readonly LogTurn[];
  onShow: (turn: number) => void;
}) {
  const { can } = useProject();
  const client = useQueryClient();
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  async function repeat() {
    setState({ busy: true });
    try {
      await take(
        api.POST('/v1/sessions/{session_id}/analyses', {
          params: { path: { session_id: session.session_id } },
        }),
      );
      setState({ busy: false });
      await client.invalidateQueries({ queryKey: ['session-analyses', session.session_id] });
    } catch (error) {
      setState({ busy: false, error });
    }
  }
  if (results.error) return <ErrorMessage error={results.error} onRetry={() => void results.refetch()} />;
  const rows = results.data ?? [];
  return (
    <Stack gap="lg">
      {rows.length === 0 && (
        <Text size="sm" c="dimmed">
          {!isOver(session.status)
            ? 'Analyses run when the call has ended.'
            : ['pending', 'running'].includes(session.detail.post_call.status)
              ? 'The analyses are running.'
              : 'No analysis has run over this call. Analyses that are attached to the agent run when a call ends.'}
        </Text>
      )}
      {rows.map((row) => (
        <Result key={row.id} row={row} turns={turns} onShow={onShow} />
      ))}
      {state.error !== undefined && <ErrorMessage error={state.error} />}
      {can('edit') && isOver(session.status) && turns.length > 0 && (
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<RefreshCw size={14} />}
          loading={state.busy}
          onClick={() => void repeat()}
          style={{ alignSelf: 'flex-start' }}
        >
          Run again
        </Button>
      )}
    </Stack>
  );
}

function Result({
  row,
  turns,
  onShow,
}: {
  row: AnalysisResult;
  turns: readonly LogTurn[];
  onShow: (turn: number) => void;
}) {
  const fields = row.structured_json ? analysisFields(row.structured_json, row.evidence) : [];
  return (
    <section>
      <Group gap={8} mb={6}>
        <Text fw={600} size="sm" component="h3" style={{ overflowWrap: 'anywhere' }}>
          <bdi>{row.rule_name}</bdi>
        </Text>
        {row.status !== 'done' && <StatusBadge status={row.status} />}
      </Group>
      {row.error !== null && (
        <Alert color="red" variant="light" mb="xs" p="xs">
          {row.error}
        </Alert>
      )}
      {row.body_text !== null && (
        <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }} dir="auto">
          {row.body_text}
        </Text>
      )}
      {fields.length > 0 && (
        <Fields
          rows={fields.map((field) => [
            field.label.replaceAll('_', ' '),
            <Fragment key={field.path}>
              <span dir="auto">{field.value}</span>
              {field.turns.length > 0 && (
                <span className="evidence">
                  {field.turns.slice(0, 6).map((turn) => (
                    <Evidence key={turn} turn={turn} turns={turns} onShow={onShow} />
                  ))}
                </span>
              )}
            </Fragment>,
          ])}
        />
      )}
      {row.tool_invocation !== null && (
        <pre className="json">{JSON.stringify(row.tool_invocation, null, 2)}</pre>
      )}
    </section>
  );
}

function Evidence({
  turn,
  turns,
  onShow,
}: {
  turn: number;
  turns: readonly LogTurn[];
  onShow: (turn: number) => void;
}) {
  const said = turns.find(({ index }) => index === turn);
  return (
    <Badge
      component="button"
      type="button"
      size="sm"
      variant="light"
      tt="none"
      className="evidence-place"
      title={said?.text.slice(0, 300)}
      onClick={() => onShow(turn)}
      aria-label={`Read from the turn at ${clock(said?.start_ms ?? 0)}`}
    >
      {said ? clock(said.start_ms) : `#${turn}`}
    </Badge>
  );
}
