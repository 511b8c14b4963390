import './live-call.css';
import { Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatLatency, inWords } from '../../components/format.ts';
import { RefreshCw } from '../../components/icons.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { eventText } from '../call/event-text.ts';
import { replyLatency } from '../call/reply-latency.ts';
import { LiveActions } from './live-actions.tsx';
import { useLiveEvents } from './live-events.ts';
import { floorOf, type LiveLog } from './live-log.ts';

const WHO: Readonly<Record<string, string>> = { caller: 'Caller', agent: 'Agent', operator: 'Operator' };
const SHOWN_EVENTS = 8;

/** A call while it runs: its words as they are said, whose turn it is and why, its tools, and what can be done. */
export function LiveCall({ sessionId }: { sessionId: string }) {
  const { log, state, error, retry } = useLiveEvents(sessionId);
  const isRefused = error !== undefined;
  const [color, word] = isRefused
    ? ['red', 'Not followed']
    : state === 'open'
      ? ['green', 'Following']
      : ['yellow', 'Connecting'];
  return (
    <section aria-label="Live call" className="live-call">
      <Paper withBorder p="md">
        <Group justify="space-between" mb="xs">
          <Title order={2} size="h4">
            Live
          </Title>
          <Badge variant="dot" color={color} tt="none">
            {word}
          </Badge>
        </Group>
        {isRefused && <Refused error={error} onRetry={retry} />}
        {(!isRefused || log.turns.length > 0) && <Conversation log={log} />}
      </Paper>
      <Stack gap="md">
        <Floor log={log} />
        <LiveActions sessionId={sessionId} />
        <Tools log={log} />
        <Happened log={log} />
      </Stack>
    </section>
  );
}

/** Whoever may not follow a call now may do so once their role or the features of the org have changed. */
function Refused({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  return (
    <Stack gap="xs" mb="sm" align="flex-start">
      <ErrorMessage error={error} />
      <Button size="compact-sm" variant="default" leftSection={<RefreshCw size={14} />} onClick={onRetry}>
        Follow it again
      </Button>
    </Stack>
  );
}

function Conversation({ log }: { log: LiveLog }) {
  const list = useRef<HTMLUListElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const element = list.current;
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [log.turns, log.words]);
  const unfinished = (['caller', 'agent'] as const).filter((role) => log.words[role] !== '');
  if (log.turns.length === 0 && unfinished.length === 0)
    return (
      <Text c="dimmed" size="sm" py="lg">
        Nobody has said anything yet.
      </Text>
    );
  return (
    <ul
      ref={list}
      className="live-turns"
      tabIndex={0}
      aria-label="Conversation"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
      }}
    >
      {log.turns.map((turn) => {
        const latency = replyLatency(turn.latency);
        return (
          <li key={turn.index}>
            <Text size="sm" fw={600}>
              {WHO[turn.role] ?? inWords(turn.role)}
            </Text>
            <Text size="sm">
              {turn.text}
              {turn.interrupted && ' —'}
            </Text>
            <Text size="xs" c="dimmed" aria-label={latency ? 'Reply time' : undefined}>
              {latency ? formatLatency(latency.total) : ''}
            </Text>
          </li>
        );
      })}
      {unfinished.map((role) => (
        <li key={role} className="is-unfinished">
          <Text size="sm" fw={600}>
            {WHO[role]}
          </Text>
          <Text size="sm">{log.words[role]}…</Text>
        </li>
      ))}
    </ul>
  );
}

function Floor({ log }: { log: LiveLog }) {
  const why = log.decision && eventText(log.decision);
  return (
    <Paper withBorder p="md">
      <Text fw={600} aria-live="polite">
        {floorOf(log).text}
      </Text>
      {why && (
        <Text size="sm" c="dimmed" mt={4}>
          {why.title}
          <br />
          {why.details.map(({ name, value }) => `${name}: ${value}`).join(' · ')}
        </Text>
      )}
    </Paper>
  );
}

function Tools({ log }: { log: LiveLog }) {
  if (log.tools.length === 0) return null;
  return (
    <Paper withBorder p="md">
      <Title order={3} size="h5" mb="xs">
        Tools
      </Title>
      <Stack gap={6}>
        {log.tools.slice(-SHOWN_EVENTS).map((tool, at) => (
          <Group key={`${tool.id}:${at}`} justify="space-between" gap="xs" wrap="nowrap">
            <Text size="sm" truncate>
              {tool.name}
            </Text>
            <Group gap="xs" wrap="nowrap">
              {tool.durationMs !== null && (
                <Text size="xs" c="dimmed">
                  {formatLatency(tool.durationMs)}
                </Text>
              )}
              <StatusBadge status={tool.outcome} />
            </Group>
          </Group>
        ))}
      </Stack>
    </Paper>
  );
}

function Happened({ log }: { log: LiveLog }) {
  if (log.others.length === 0) return null;
  return (
    <Paper withBorder p="md">
      <Title order={3} size="h5" mb="xs">
        What happened
      </Title>
      <Stack gap={4}>
        {log.others.slice(-SHOWN_EVENTS).map((event) => (
          <Text key={event.id} size="sm" style={{ overflowWrap: 'anywhere' }}>
            {eventText(event).title}
          </Text>
        ))}
      </Stack>
    </Paper>
  );
}
