import { Group, Paper, Skeleton, Stack, Tabs, Text } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { Fields } from '../../components/fields.tsx';
import { clock } from '../call/call-clock.ts';
import { useSession } from '../call/call-data.ts';
import { EventLines } from '../call/event-lines.tsx';
import { toolCallsOf } from '../call/lanes.ts';
import { ToolOutcome } from '../call/outcome-badge.tsx';
import type { LogEvent } from '../call/session-log.ts';
import { text } from '../call/session-log.ts';
import { Details } from '../call/timeline.tsx';
import type { Flow } from '../flow/flow-graph.ts';

/** Loaded for agents that have a flow. */
const FlowMap = lazy(() => import('../flow/flow-map.tsx'));

const STEPS: ReadonlySet<string> = new Set([
  ...['flow_node', 'transfer', 'handover', 'language', 'recording_consent', 'knowledge', 'interruption'],
  ...['turn_decision', 'error', 'warning', 'stalled', 'dtmf', 'do_not_call', 'tool_confirmation'],
]);

/** What the agent does while it talks. */
export function TalkSide({
  sessionId,
  events,
  running,
  flow,
}: {
  sessionId: string | null;
  events: readonly LogEvent[];
  running: boolean;
  /** Of the agent; null: it has none. */
  flow: Flow | null;
}) {
  const tools = toolCallsOf(events);
  const steps = events.filter(({ type }) => STEPS.has(type));
  const session = useSession(sessionId ?? '', running ? 3000 : false, sessionId !== null);
  const variables = Object.entries(session.data?.detail.variables ?? {});
  return (
    <Paper withBorder className="call-side">
      <Tabs defaultValue={flow ? 'flow' : 'tools'}>
        <Tabs.List>
          {flow && <Tabs.Tab value="flow">Flow</Tabs.Tab>}
          <Tabs.Tab value="tools">Tools{tools.length > 0 ? ` (${tools.length})` : ''}</Tabs.Tab>
          <Tabs.Tab value="steps">Steps</Tabs.Tab>
          <Tabs.Tab value="variables">Variables</Tabs.Tab>
        </Tabs.List>
        {flow && (
          <Tabs.Panel value="flow">
            <Suspense fallback={<Skeleton h={480} />}>
              <FlowMap flow={flow} at={running ? nodeOf(events) : null} />
            </Suspense>
          </Tabs.Panel>
        )}
        <Tabs.Panel value="tools" p="md">
          {tools.length === 0 && (
            <Nothing text="Tools that the agent calls appear here with their arguments and answers." />
          )}
          <Stack gap="md">
            {tools.map((tool) => (
              <section key={tool.id}>
                <Group gap={8}>
                  <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
                    {tool.name}
                  </Text>
                  <ToolOutcome call={tool} running={running} />
                  <Text span size="xs" c="dimmed" className="tabular">
                    {tool.end_ms === null ? '' : `${tool.end_ms - tool.start_ms} ms`}
                  </Text>
                </Group>
                <Details
                  details={[
                    ...(tool.arguments === undefined ? [] : [{ name: 'Arguments', value: tool.arguments }]),
                    ...(tool.result === undefined ? [] : [{ name: 'Answer', value: tool.result }]),
                  ]}
                />
              </section>
            ))}
          </Stack>
        </Tabs.Panel>
        <Tabs.Panel value="steps" p="md">
          {steps.length === 0 && (
            <Nothing text="Why the agent speaks, waits or stops, nodes of its flow, keys and faults." />
          )}
          <EventLines
            events={steps.slice(-100)}
            time={({ offset_ms }) => <span className="dim tabular">{clock(offset_ms)}</span>}
          />
        </Tabs.Panel>
        <Tabs.Panel value="variables" p="md">
          {variables.length === 0 && <Nothing text="The call has no variables." />}
          <Fields rows={variables} />
        </Tabs.Panel>
      </Tabs>
    </Paper>
  );
}

/** Where the call is in its flow; null: nowhere yet. */
function nodeOf(events: readonly LogEvent[]): string | null {
  return text(events.findLast(({ type }) => type === 'flow_node')?.data['node_id']) ?? null;
}

function Nothing({ text }: { text: string }) {
  return (
    <Text size="sm" c="dimmed">
      {text}
    </Text>
  );
}
