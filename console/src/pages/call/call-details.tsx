import { Anchor, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useProject } from '../../app/project.ts';
import { Duration } from '../../components/duration.tsx';
import { Fields } from '../../components/fields.tsx';
import { formatLatency, inWords } from '../../components/format.ts';
import { Time } from '../../components/time.tsx';
import type { Session } from './call-data.ts';
import { EventLines } from './event-lines.tsx';
import type { LogEvent } from './session-log.ts';

/** Of the way a call has gone, outside of the conversation. */
const HISTORY: ReadonlySet<string> = new Set([
  'state',
  'dial',
  'carrier_verdict',
  'webhook',
  'recording',
  'memory',
]);

export function CallDetails({
  session,
  agentName,
  events,
}: {
  session: Session;
  agentName: string | null;
  events: readonly LogEvent[];
}) {
  const { projectId } = useProject();
  const { detail } = session;
  const history = events.filter(({ type }) => HISTORY.has(type));
  const variables = Object.entries(detail.variables);
  const fields: [string, ReactNode][] = [
    ['Call ID', session.session_id],
    [
      'Agent',
      session.agent_id === null ? null : (
        <>
          <Anchor component={Link} to={`/projects/${projectId}/agents/${session.agent_id}`} size="sm">
            <bdi>{agentName ?? session.agent_id}</bdi>
          </Anchor>
          {detail.agent_version !== null && `, version ${detail.agent_version}`}
        </>
      ),
    ],
    ['From', detail.from_number],
    ['To', detail.to_number],
    ['Caller is known as', session.user_identifier],
    ['Carrier', session.provider === null ? null : inWords(session.provider)],
    ['Answered by', detail.answered_by === null ? null : inWords(detail.answered_by)],
    ['Outcome', detail.outcome === null ? null : inWords(detail.outcome)],
    ['Goal', session.goal_status === null ? null : inWords(session.goal_status)],
    ['Language', session.language],
    ['Duration', session.duration_seconds === null ? null : <Duration seconds={session.duration_seconds} />],
    [
      'Agent spoke',
      session.agent_duration_seconds === null ? null : <Duration seconds={session.agent_duration_seconds} />,
    ],
    [
      'Mean reply time',
      session.avg_agent_latency_ms === null ? null : formatLatency(session.avg_agent_latency_ms),
    ],
    ['Ended by', session.ended_by === null ? null : inWords(session.ended_by)],
    ['Models', `${session.stt_id} · ${session.llm_id} · ${session.tts_id}`],
    [
      'Campaign',
      detail.campaign_id === null ? null : (
        <Anchor component={Link} to={`/projects/${projectId}/campaigns/${detail.campaign_id}`} size="sm">
          {detail.campaign_id}
        </Anchor>
      ),
    ],
    ['Made', <Time key="made" value={session.created_at} form="long" />],
    ['Ended', session.ended_at === null ? null : <Time key="ended" value={session.ended_at} form="long" />],
  ];
  return (
    <Stack gap="lg">
      <Fields rows={fields} />
      {variables.length > 0 && (
        <section>
          <Text fw={600} size="sm" component="h3" mb={6}>
            Variables
          </Text>
          <Fields rows={variables} />
        </section>
      )}
      {history.length > 0 && (
        <section>
          <Text fw={600} size="sm" component="h3" mb={6}>
            History
          </Text>
          <EventLines events={history} time={({ at }) => <Time value={at} form="time" />} />
        </section>
      )}
    </Stack>
  );
}
