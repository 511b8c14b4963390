import { ActionIcon, Badge, Checkbox, Group, Paper, Text, TextInput, VisuallyHidden } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useEffect, useMemo, useRef, useState } from 'react';
import type { KeyboardEvent, MouseEvent } from 'react';
import { EmptyState } from '../../components/empty-state.tsx';
import {
  ChevronDown,
  ChevronUp,
  MessageSquareText,
  Scissors,
  Search,
  Wrench,
} from '../../components/icons.ts';
import { clock } from './call-clock.ts';
import { LatencyBar, LatencyLegend } from './latency-bar.tsx';
import { ToolOutcome } from './outcome-badge.tsx';
import { usePlayback } from './playback.ts';
import type { Playback } from './playback.ts';
import { latencyScale } from './reply-latency.ts';
import type { ReplyLatency } from './reply-latency.ts';
import type { LogEvent, LogTurn } from './session-log.ts';
import { Details } from './timeline.tsx';
import { findRows, transcriptRows } from './transcript-rows.ts';
import type { TranscriptRow } from './transcript-rows.ts';
import { turnAt, wordAt, wordTimes } from './word-times.ts';

/** After the reader has scrolled, the transcript stays where it is for so long. */
const HANDS_OFF_MS = 4000;

/** What was said and done, to be read and clicked. Only what is in sight is in the page, however long the call was. */
export function Transcript({
  turns,
  events,
  latencies,
  playback,
  agentName,
  wanted,
}: {
  turns: readonly LogTurn[];
  events: readonly LogEvent[];
  latencies: ReadonlyMap<number, ReplyLatency>;
  playback: Playback;
  agentName: string;
  /** A turn to be shown, and when that was asked for. */
  wanted: { turn: number; asked: number } | null;
}) {
  const [decisions, setDecisions] = useState(false);
  const [query, setQuery] = useState('');
  const rows = useMemo(() => transcriptRows(turns, events, { decisions }), [turns, events, decisions]);
  const found = useMemo(() => findRows(rows, query), [rows, query]);
  const [hit, setHit] = useState(0);
  const scale = useMemo(() => latencyScale(latencies.values()), [latencies]);
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => 76,
    overscan: 8,
    getItemKey: (at) => rows[at]!.key,
  });
  const active = useActiveRow(rows, playback);
  const touched = useRef(-Infinity);
  const [flashed, setFlashed] = useState<number | null>(null);

  useEffect(() => {
    if (active < 0 || performance.now() - touched.current < HANDS_OFF_MS) return;
    virtual.scrollToIndex(active, { align: 'center' });
    // Only when it goes on to another row.
  }, [active]);
  useEffect(() => {
    if (!wanted) return;
    const at = rows.findIndex((row) => row.kind === 'turn' && row.turn.index === wanted.turn);
    if (at < 0) return;
    touched.current = performance.now();
    virtual.scrollToIndex(at, { align: 'center' });
    setFlashed(wanted.turn);
    // Only when it is asked for.
  }, [wanted]);

  function goToHit(next: number) {
    if (found.length === 0) return;
    const at = (next + found.length) % found.length;
    setHit(at);
    touched.current = performance.now();
    virtual.scrollToIndex(found[at]!, { align: 'center' });
  }

  const handsOn = () => (touched.current = performance.now());
  return (
    <Paper withBorder className="transcript" component="section" aria-label="Transcript">
      <Group className="transcript-head" gap="sm">
        <Text fw={600} component="h2" size="md">
          Transcript
        </Text>
        <LatencyLegend />
        <Group gap={6} ml="auto" wrap="nowrap">
          <TextInput
            size="xs"
            value={query}
            onChange={(event) => {
              setQuery(event.currentTarget.value);
              setHit(-1);
            }}
            onKeyDown={(event) => {
              if (event.key === 'Enter') goToHit(event.shiftKey ? hit - 1 : hit + 1);
            }}
            placeholder="Find"
            aria-label="Find in the transcript"
            leftSection={<Search size={13} />}
            w={130}
          />
          {query !== '' && (
            <>
              <Text size="xs" c="dimmed" className="tabular" role="status" style={{ whiteSpace: 'nowrap' }}>
                {found.length === 0 ? 'none' : `${Math.max(0, hit) + 1}/${found.length}`}
              </Text>
              <ActionIcon size="sm" onClick={() => goToHit(hit - 1)} aria-label="Previous match">
                <ChevronUp size={14} />
              </ActionIcon>
              <ActionIcon size="sm" onClick={() => goToHit(hit + 1)} aria-label="Next match">
                <ChevronDown size={14} />
              </ActionIcon>
            </>
          )}
          <Checkbox
            size="xs"
            label="Decisions"
            checked={decisions}
            onChange={(event) => setDecisions(event.currentTarget.checked)}
          />
        </Group>
      </Group>
      {rows.length === 0 ? (
        <EmptyState
          icon={MessageSquareText}
          title="Nothing was said, or it is not kept"
          text="A transcript appears here when somebody speaks. It is gone once the call is erased, or where the agent stores none."
        />
      ) : (
        <div
          className="transcript-scroll"
          ref={scroll}
          onWheel={handsOn}
          onTouchMove={handsOn}
          tabIndex={0}
          role="group"
          aria-label="What was said"
        >
          <div className="transcript-rows" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index, key, start }) => (
              <div
                key={key}
                data-index={index}
                ref={virtual.measureElement}
                className="transcript-row"
                style={{ transform: `translateY(${start}px)` }}
              >
                <Row
                  row={rows[index]!}
                  latency={latencyOf(rows[index]!, latencies)}
                  scale={scale}
                  playback={playback}
                  agentName={agentName}
                  active={index === active}
                  found={query !== '' && found[hit] === index}
                  flashed={isTurn(rows[index]!, flashed)}
                />
              </div>
            ))}
          </div>
        </div>
      )}
    </Paper>
  );
}

function isTurn(row: TranscriptRow, turn: number | null): boolean {
  return row.kind === 'turn' && row.turn.index === turn;
}

function latencyOf(row: TranscriptRow, latencies: ReadonlyMap<number, ReplyLatency>) {
  return row.kind === 'turn' ? latencies.get(row.turn.index) : undefined;
}

/** The row of the turn that is heard, or was heard last; -1 before anything was played. */
function useActiveRow(rows: readonly TranscriptRow[], playback: Playback): number {
  const turns = useMemo(
    () =>
      rows.flatMap((row, at) => {
        if (row.kind !== 'turn') return [];
        const { start_ms, end_ms } = row.turn;
        return [{ start_ms, end_ms, at }];
      }),
    [rows],
  );
  return usePlayback(playback, ({ timeMs }) =>
    timeMs === 0 ? -1 : (turns[turnAt(turns, timeMs)]?.at ?? -1),
  );
}

const Row = memo(function Row({
  row,
  latency,
  scale,
  playback,
  agentName,
  active,
  found,
  flashed,
}: {
  row: TranscriptRow;
  latency: ReplyLatency | undefined;
  scale: number;
  playback: Playback;
  agentName: string;
  active: boolean;
  found: boolean;
  flashed: boolean;
}) {
  const time = (
    <button
      type="button"
      className="time-link"
      onClick={() => playback.playFrom(row.at_ms)}
      aria-label={`Play from ${clock(row.at_ms)}`}
    >
      {clock(row.at_ms)}
    </button>
  );
  const state = `${active ? ' is-active' : ''}${found || flashed ? ' is-found' : ''}`;
  if (row.kind === 'turn') {
    const { turn } = row;
    const who = { caller: 'Caller', agent: agentName, operator: 'Operator' }[turn.role] ?? turn.role;
    return (
      <article className={`turn turn-${turn.role === 'caller' ? 'caller' : 'agent'}${state}`}>
        {time}
        <div className="turn-body">
          <Group gap={8} mb={2} className="turn-who">
            <Text size="xs" fw={600} className="who" truncate>
              <bdi>{who}</bdi>
            </Text>
            {latency && <LatencyBar latency={latency} scale={scale} />}
            {turn.redacted && (
              <Badge size="xs" variant="light" color="gray" tt="none">
                redacted
              </Badge>
            )}
          </Group>
          <Words turn={turn} playback={playback} />
        </div>
      </article>
    );
  }
  if (row.kind === 'tool') {
    const { call } = row;
    const details = [
      ...(call.arguments === undefined ? [] : [{ name: 'Arguments', value: call.arguments }]),
      ...(call.result === undefined ? [] : [{ name: 'Answer', value: call.result }]),
    ];
    const took = call.end_ms === null ? '' : `${call.end_ms - call.start_ms} ms`;
    return (
      <div className={`step${state}`}>
        {time}
        <details className="step-body">
          <summary>
            <Wrench size={13} aria-hidden /> <b>{call.name}</b> <ToolOutcome call={call} running={false} />{' '}
            <span className="dim tabular">{took}</span>
          </summary>
          <Details details={details} />
        </details>
      </div>
    );
  }
  return (
    <div className={`step step-${row.tone}${state}`}>
      {time}
      <div className="step-body">
        <bdi>{row.title}</bdi>
        {row.details.length > 0 && (
          <span className="dim">
            {' '}
            {row.details.map(({ name, value }) => `${name}: ${value}`).join(' · ')}
          </span>
        )}
      </div>
    </div>
  );
});

/**
 * The words of a turn: a click plays from there, and the one that is heard is lit. By keyboard, the arrows choose a word and
 * Enter plays from it.
 */
function Words({ turn, playback }: { turn: LogTurn; playback: Playback }) {
  const words = useMemo(() => wordTimes(turn), [turn]);
  const lit = usePlayback(playback, ({ timeMs }) => wordAt(words, timeMs));
  const [chosen, setChosen] = useState(-1);
  function play(event: MouseEvent<HTMLParagraphElement>) {
    // Who selects text wants to copy it.
    if (getSelection()?.isCollapsed === false || !(event.target instanceof HTMLElement)) return;
    const at = Number(event.target.dataset['word']);
    const word = words[at];
    if (word) playback.playFrom(word.start_ms);
  }
  function onKeyDown(event: KeyboardEvent<HTMLParagraphElement>) {
    const targets: Record<string, number> = {
      ArrowLeft: Math.max(0, chosen - 1),
      ArrowRight: Math.min(words.length - 1, chosen + 1),
      Home: 0,
      End: words.length - 1,
    };
    const target = targets[event.key];
    if (target !== undefined) setChosen(target);
    else if (event.key === 'Enter' && words[chosen]) playback.playFrom(words[chosen].start_ms);
    else return;
    event.preventDefault();
    // Elsewhere on the page the arrows go some seconds back and forth.
    event.stopPropagation();
  }
  const classOf = (at: number) =>
    [...(at === lit ? ['lit'] : []), ...(at === chosen ? ['chosen'] : [])].join(' ') || undefined;
  return (
    <p
      className="words"
      dir="auto"
      tabIndex={words.length === 0 ? undefined : 0}
      aria-keyshortcuts="ArrowLeft ArrowRight Enter"
      onClick={play}
      onKeyDown={onKeyDown}
      onBlur={() => setChosen(-1)}
    >
      {words.map((word, at) => (
        <span key={at} data-word={at} className={classOf(at)}>
          {word.text}
        </span>
      ))}
      {words[chosen] && <VisuallyHidden role="status">{words[chosen].text}</VisuallyHidden>}
      {turn.text === '' && <span className="dim">(nothing understood)</span>}
      {turn.interrupted && (
        <span className="cut" title="The caller interrupted: what followed was not heard">
          <Scissors size={12} aria-hidden /> cut off
        </span>
      )}
    </p>
  );
}
