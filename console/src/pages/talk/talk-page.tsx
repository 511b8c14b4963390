import '../call/call.css';
import './talk.css';
import {
  Alert,
  Button,
  Group,
  Paper,
  Progress,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { useProject } from '../../app/project.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { FlaskConical, Keyboard, Mic, MicOff, PhoneOff, Scissors, Send } from '../../components/icons.ts';
import { AgentFrame } from '../agents/agent-frame.tsx';
import { useAgent, useEvents } from '../call/call-data.ts';
import { LatencyBar, LatencyLegend } from '../call/latency-bar.tsx';
import { MakeTest } from '../call/make-test.tsx';
import { OutcomeBadge } from '../call/outcome-badge.tsx';
import { latencyScale } from '../call/reply-latency.ts';
import type { LogEvent } from '../call/session-log.ts';
import { readFlow } from '../flow/flow-graph.ts';
import type { Flow } from '../flow/flow-graph.ts';
import { toToolMocks } from './mock-drafts.ts';
import type { MockDraft } from './mock-drafts.ts';
import type { TalkCall } from './talk-call.ts';
import type { Floor, TalkSnapshot, TalkTurn } from './talk-conversation.ts';
import { TalkSide } from './talk-side.tsx';
import { ToolAnswers } from './tool-answers.tsx';
import { useTalk } from './use-talk.ts';
import type { Talk } from './use-talk.ts';

const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '0', '#'];
/** How often tools and steps are looked at while one talks. */
const LOOK_EVERY_MS = 1000;

const FLOOR: Readonly<Record<Floor, string>> = {
  connecting: 'Connecting',
  listening: 'Listening',
  caller: 'You are speaking',
  thinking: 'The agent is thinking',
  agent: 'The agent is speaking',
};

/** A conversation with an agent's newest version, in the page. */
export default function TalkPage() {
  const { agentId = '' } = useParams({ strict: false });
  const agent = useAgent(agentId);
  const { talk, level, start, end } = useTalk(agentId, agent.data?.version);
  const [variables, setVariables] = useState<Record<string, string>>({});
  const [answers, setAnswers] = useState<Readonly<Record<string, MockDraft>>>({});
  const declared = agent.data?.config.variables ?? [];
  const flow = useMemo(() => readFlow(agent.data?.flow_definition ?? null), [agent.data]);
  const running = talk !== null && talk.state !== 'over';
  const begin = (microphone: boolean) => start({ microphone, variables, toolMocks: toToolMocks(answers) });
  return (
    <AgentFrame
      agentId={agentId}
      actions={
        running ? (
          <Button color="red.9" leftSection={<PhoneOff size={16} />} onClick={end}>
            End
          </Button>
        ) : (
          <Group gap="xs">
            <Button
              variant="default"
              leftSection={<Keyboard size={16} />}
              disabled={!agent.data}
              onClick={() => begin(false)}
            >
              Type
            </Button>
            <Button leftSection={<Mic size={16} />} disabled={!agent.data} onClick={() => begin(true)}>
              {talk ? 'Talk again' : 'Start talking'}
            </Button>
          </Group>
        )
      }
    >
      {agent.data && (
        <Text size="sm" c="dimmed">
          You talk to version {agent.data.version}, the newest, whatever callers get at present.
        </Text>
      )}
      {!running && declared.length > 0 && (
        <Paper withBorder p="md">
          <Text fw={600} size="sm" mb="xs">
            Variables of the call
          </Text>
          <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
            {declared.map(({ name, required, default: value }) => (
              <TextInput
                key={name}
                label={name}
                required={required && value === null}
                placeholder={value ?? ''}
                value={variables[name] ?? ''}
                onChange={(event) => setVariables({ ...variables, [name]: event.currentTarget.value })}
              />
            ))}
          </SimpleGrid>
        </Paper>
      )}
      {!running && agent.data && <ToolAnswers agentId={agentId} drafts={answers} onChange={setAnswers} />}
      {talk === null && !agent.data ? (
        <Skeleton h={320} radius="md" />
      ) : talk === null ? (
        <EmptyState
          icon={Mic}
          title="Talk to your agent"
          text="Speak or type. Both sides are written down as they are said, with what each reply waited for, and tools with their arguments and answers. What comes of it can be saved as a test."
        />
      ) : (
        <Conversation
          key={talk.id}
          talk={talk}
          level={level}
          agentId={agentId}
          agentName={agent.data?.name ?? 'Agent'}
          flow={flow}
        />
      )}
    </AgentFrame>
  );
}

function Conversation({
  talk,
  level,
  agentId,
  agentName,
  flow,
}: {
  talk: Talk;
  level: number;
  agentId: string;
  agentName: string;
  flow: Flow | null;
}) {
  const { conversation, call, state, sessionId } = talk;
  const snapshot = useSyncExternalStore(
    (listener) => conversation.subscribe(listener),
    () => conversation.snapshot,
  );
  const { projectId } = useProject();
  const [muted, setMuted] = useState(false);
  const [testOpened, setTestOpened] = useState(false);
  const running = state !== 'over';
  const events = useTalkEvents(sessionId, running);
  const said =
    snapshot.turns.find(({ who, text }) => who === 'caller' && text !== '')?.text ?? 'Conversation';
  return (
    <div className="call-columns">
      <Stack gap="sm">
        {snapshot.problem !== '' && (
          <Alert color="orange" variant="light" role="alert">
            {snapshot.problem}
          </Alert>
        )}
        <Paper withBorder className="transcript">
          <Group className="transcript-head" gap="sm">
            <span role="status">
              <OutcomeBadge tone={running ? 'good' : 'none'}>
                {running ? FLOOR[snapshot.floor] : talk.ending}
              </OutcomeBadge>
            </span>
            {running && call.hasMicrophone && (
              <>
                <Progress
                  value={muted ? 0 : level}
                  w={100}
                  aria-label="Your microphone"
                  transitionDuration={60}
                />
                <Button
                  size="compact-sm"
                  variant="default"
                  leftSection={muted ? <MicOff size={14} /> : <Mic size={14} />}
                  aria-pressed={muted}
                  onClick={() => {
                    call.mute(!muted);
                    setMuted(!muted);
                  }}
                >
                  {muted ? 'Unmute' : 'Mute'}
                </Button>
              </>
            )}
            <LatencyLegend />
            {!running && sessionId !== null && (
              <Group gap="xs" ml="auto">
                <Button
                  size="compact-sm"
                  variant="default"
                  component={Link}
                  to={`/projects/${projectId}/calls/${sessionId}`}
                >
                  Open the call
                </Button>
                {snapshot.turns.some(({ who }) => who === 'caller') && (
                  <Button
                    size="compact-sm"
                    leftSection={<FlaskConical size={14} />}
                    onClick={() => setTestOpened(true)}
                  >
                    Save as test
                  </Button>
                )}
              </Group>
            )}
          </Group>
          <Turns snapshot={snapshot} agentName={agentName} />
          {running && <Write call={call} disabled={state !== 'open'} />}
        </Paper>
        {running && (
          <Group gap={4} role="group" aria-label="Keys, as on a telephone">
            {KEYS.map((key) => (
              <Button
                key={key}
                size="compact-sm"
                variant="default"
                disabled={state !== 'open'}
                aria-label={KEY_NAMES[key] ?? key}
                onClick={() => void call.press(key)}
              >
                {key}
              </Button>
            ))}
          </Group>
        )}
      </Stack>
      <TalkSide sessionId={sessionId} events={events} running={running} flow={flow} />
      {sessionId !== null && (
        <MakeTest
          opened={testOpened}
          onClose={() => setTestOpened(false)}
          sessionId={sessionId}
          agentId={agentId}
          events={events}
          name={said.slice(0, 60)}
        />
      )}
    </div>
  );
}

const KEY_NAMES: Readonly<Record<string, string>> = { '*': 'star', '#': 'pound' };
const NO_EVENTS: readonly LogEvent[] = [];

function useTalkEvents(sessionId: string | null, running: boolean): readonly LogEvent[] {
  const log = useEvents(sessionId ?? '', running ? LOOK_EVERY_MS : 5000, sessionId !== null);
  return log.data ?? NO_EVENTS;
}

function Turns({ snapshot, agentName }: { snapshot: TalkSnapshot; agentName: string }) {
  const end = useRef<HTMLDivElement>(null);
  const { turns } = snapshot;
  const scale = latencyScale(turns.flatMap(({ latency }) => latency ?? []));
  const written = turns.at(-1)?.text.length;
  useEffect(() => {
    // Browsers may answer with a promise, which is nothing to clean up with.
    void end.current?.scrollIntoView({ block: 'nearest' });
  }, [turns.length, written]);
  return (
    <div className="talk-turns" role="log" aria-label="Conversation" tabIndex={0}>
      {turns.length === 0 && (
        <Text size="sm" c="dimmed" p="md">
          What you and the agent say appears here as it is said. Speak whenever you like, even while the agent
          speaks.
        </Text>
      )}
      {turns.map((turn) => (
        <Turn key={turn.id} turn={turn} agentName={agentName} scale={scale} />
      ))}
      <div ref={end} />
    </div>
  );
}

function Turn({ turn, agentName, scale }: { turn: TalkTurn; agentName: string; scale: number }) {
  return (
    <article className={`talk-turn turn-${turn.who}`} data-who={turn.who} aria-busy={turn.coming}>
      <Group gap={8} className="turn-who">
        <Text size="xs" fw={600} className="who" truncate>
          <bdi>{turn.who === 'caller' ? 'You' : agentName}</bdi>
        </Text>
        {turn.latency && <LatencyBar latency={turn.latency} scale={scale} />}
      </Group>
      <p className="words talk-words" dir="auto">
        {turn.text}
        {turn.coming && <span className="dim"> …</span>}
        {turn.cut !== null && (
          <span className="cut">
            <Scissors size={12} aria-hidden />{' '}
            {turn.cut === 'interrupted' ? 'cut off' : 'stopped for a sound, goes on below'}
          </span>
        )}
      </p>
    </article>
  );
}

function Write({ call, disabled }: { call: TalkCall; disabled: boolean }) {
  const [text, setText] = useState('');
  return (
    <form
      className="talk-write"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() === '') return;
        void call.write(text.trim());
        setText('');
      }}
    >
      <TextInput
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        placeholder="Type to the agent"
        aria-label="Type to the agent"
        maxLength={2000}
        autoComplete="off"
        style={{ flex: 1 }}
      />
      <Button type="submit" leftSection={<Send size={15} />} disabled={disabled || text.trim() === ''}>
        Send
      </Button>
    </form>
  );
}
