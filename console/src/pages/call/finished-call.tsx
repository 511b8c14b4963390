import { Badge, Paper, Tabs } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { useRetryFailed } from '../../api/use-retry-failed.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Loading } from '../../components/loading.tsx';
import { AnalysisResults } from './analysis-results.tsx';
import { CallActions } from './call-actions.tsx';
import { readAt } from './call-clock.ts';
import { CallHeader } from './call-header.tsx';
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
export function FinishedCall({ session }: { session: Session }) {
  const { session_id: id, agent_id: agentId } = session;
  const { at } = useSearch({ strict: false }) as { at?: unknown };
  const transcript = useTranscript(id);
  const log = useEvents(id);
  const recording = useRecording(session);
  const analyses = useAnalyses(id);
  const deliveries = useDeliveries(id, agentId);
  const agent = useAgent(agentId);
  const retry = useRetryFailed();
  const failure = log.error ?? recording.error;
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
  const failedDeliveries = deliveries.data?.filter(({ status }) => status === 'failed').length ?? 0;

  function show(turn: number) {
    setWanted({ turn, asked: Date.now() });
    const start = turns.find(({ index }) => index === turn)?.start_ms;
    if (start !== undefined) playback.seek(start);
  }

  return (
    <>
      <CallHeader
        session={session}
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
      {failure && <ErrorMessage error={failure} onRetry={retry} />}
      <Timeline
        lanes={lanes}
        playback={playback}
        sound={sound}
        hasRecording={recording.data != null && recording.data.status !== 'failed'}
      />
      <div className="call-columns">
        {transcript.error ? (
          <ErrorMessage error={transcript.error} onRetry={() => void transcript.refetch()} />
        ) : transcript.isPending ? (
          <Loading label="Loading the transcript" />
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
