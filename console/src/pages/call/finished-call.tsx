import { Badge, Group, Paper, Tabs, Text } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { PageHeader } from '../../components/page-header.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { DIRECTION_WORDS, endOf, farEndOf, wordFor } from '../calls/call-words.ts';
import { AnalysisResults } from './analysis-results.tsx';
import { CallActions } from './call-actions.tsx';
import { readAt } from './call-clock.ts';
import { CallDetails } from './call-details.tsx';
import { useAgent, useAnalyses, useDeliveries, useEvents, useRecording, useTranscript } from './call-data.ts';
import type { Session } from './call-data.ts';
import { lanesOf } from './lanes.ts';
import { Playback } from './playback.ts';
import { useRecordingSound } from './recording-sound.ts';
import { latenciesByTurn } from './reply-latency.ts';
import type { LogEvent, LogTurn } from './session-log.ts';
import { Timeline } from './timeline.tsx';
import { Transcript } from './transcript.tsx';
import { WebhookDeliveries } from './webhook-deliveries.tsx';

const NO_TURNS: readonly LogTurn[] = [];
const NO_EVENTS: readonly LogEvent[] = [];

/** A call that can be read and heard. */
export function FinishedCall({ session, live }: { session: Session; live: boolean }) {
  const { session_id: id, agent_id: agentId } = session;
  const { at } = useSearch({ strict: false }) as { at?: unknown };
  const transcript = useTranscript(id);
  const log = useEvents(id, live ? 3000 : false);
  const recording = useRecording(session);
  const analyses = useAnalyses(id);
  const deliveries = useDeliveries(id, agentId);
  const agent = useAgent(agentId);
  const turns = transcript.data ?? NO_TURNS;
  const events = log.data ?? NO_EVENTS;
  const lanes = useMemo(() => lanesOf(turns, events), [turns, events]);
  const latencies = useMemo(() => latenciesByTurn(events), [events]);
  const durationMs = useMemo(
    () => lengthOf(session, recording.data?.duration_seconds, turns),
    [session, recording.data, turns],
  );
  const playback = usePlaybackOf(durationMs, readAt(at));
  const sound = useRecordingSound(recording.data, playback);
  const [wanted, setWanted] = useState<{ turn: number; asked: number } | null>(null);
  const caller = farEndOf(session) ?? (session.direction === 'web' ? 'Web call' : 'Unknown caller');
  const end = endOf(session);
  const failedDeliveries = deliveries.data?.filter(({ status }) => status === 'failed').length ?? 0;

  function show(turn: number) {
    setWanted({ turn, asked: Date.now() });
    const start = turns.find(({ index }) => index === turn)?.start_ms;
    if (start !== undefined) playback.seek(start);
  }

  return (
    <>
      <PageHeader
        title={caller}
        text={
          <Group gap={8} component="span">
            <StatusBadge status={session.status} />
            <Badge variant="outline" color="gray" radius="sm" tt="none">
              {wordFor(DIRECTION_WORDS, session.direction)}
            </Badge>
            {end !== null && (
              <Text span size="sm" c={session.failure_reason === null ? 'dimmed' : 'red'}>
                {end}
              </Text>
            )}
            <Text span size="sm" c="dimmed">
              <Time value={session.started_at ?? session.created_at} form="long" />
            </Text>
          </Group>
        }
        actions={
          <CallActions
            session={session}
            playback={playback}
            turns={turns}
            events={events}
            hasRecording={recording.data?.status === 'ready'}
          />
        }
      />
      <Timeline
        lanes={lanes}
        playback={playback}
        sound={sound}
        hasRecording={recording.data != null && recording.data.status !== 'failed'}
      />
      <div className="call-columns">
        {transcript.error ? (
          <ErrorMessage error={transcript.error} onRetry={() => void transcript.refetch()} />
        ) : (
          <Transcript
            turns={turns}
            events={events}
            latencies={latencies}
            playback={playback}
            agentName={agent.data?.name ?? 'Agent'}
            wanted={wanted}
          />
        )}
        <Paper withBorder className="call-side">
          <Tabs defaultValue="analysis" keepMounted={false}>
            <Tabs.List>
              <Tabs.Tab value="analysis">Analysis</Tabs.Tab>
              <Tabs.Tab value="details">Details</Tabs.Tab>
              <Tabs.Tab
                value="webhooks"
                rightSection={
                  failedDeliveries > 0 ? (
                    <Badge size="xs" color="red" circle>
                      {failedDeliveries}
                    </Badge>
                  ) : undefined
                }
              >
                Webhooks
              </Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="analysis" p="md">
              <AnalysisResults session={session} results={analyses} turns={turns} onShow={show} />
            </Tabs.Panel>
            <Tabs.Panel value="details" p="md">
              <CallDetails session={session} agentName={agent.data?.name ?? null} events={events} />
            </Tabs.Panel>
            <Tabs.Panel value="webhooks" p="md">
              <WebhookDeliveries deliveries={deliveries} hasAgent={agentId !== null} />
            </Tabs.Panel>
          </Tabs>
        </Paper>
      </div>
    </>
  );
}

function lengthOf(session: Session, recorded: number | null | undefined, turns: readonly LogTurn[]): number {
  const said = turns.reduce((end, turn) => Math.max(end, turn.end_ms), 0);
  return Math.max(
    1000,
    Math.ceil(Math.max((session.duration_seconds ?? 0) * 1000, (recorded ?? 0) * 1000, said)),
  );
}

/** A playback of this length, which goes on where it was when the length turns out otherwise. */
function usePlaybackOf(durationMs: number, atMs: number): Playback {
  const [playback, setPlayback] = useState(() => new Playback({ durationMs, atMs }));
  useEffect(() => {
    setPlayback((before) =>
      before.durationMs === durationMs && !before.closed
        ? before
        : new Playback({ durationMs, atMs: before.timeMs || atMs }),
    );
    // The place in the address counts once.
  }, [durationMs]);
  useEffect(() => () => playback.close(), [playback]);
  return playback;
}
