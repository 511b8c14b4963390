import { ActionIcon, Button, Group, Loader, Menu, Paper, Stack, Text, Tooltip } from '@mantine/core';
import { useElementSize, useHotkeys } from '@mantine/hooks';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { KeyboardEvent, PointerEvent } from 'react';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Pause, Play, RotateCcw, RotateCw, X, ZoomIn, ZoomOut } from '../../components/icons.ts';
import { clock, timeSteps } from './call-clock.ts';
import { clustered, LANE_LABELS, LANES } from './lanes.ts';
import type { Lane, LaneMark, MarkCluster } from './lanes.ts';
import { usePlayback } from './playback.ts';
import type { Playback } from './playback.ts';
import type { RecordingSound } from './recording-sound.ts';
import { Waveform } from './waveform.tsx';

const RATES = [0.75, 1, 1.25, 1.5, 2];
const STEP_MS = 5000;
const MAX_ZOOM = 16;
/** Canvases wider than this cost more than they show. */
const MAX_WIDTH_PX = 24_000;
/** Marks nearer than this are one. */
const MARK_PX = 7;
const SOUNDLESS: readonly Lane[] = ['caller', 'agent'];

/** The call along the time: how it sounds, who speaks, and what happens, with the controls to hear it. */
export function Timeline({
  lanes,
  playback,
  sound,
  hasRecording,
}: {
  lanes: Readonly<Record<Lane, readonly LaneMark[]>>;
  playback: Playback;
  sound: RecordingSound & { retry: () => void };
  hasRecording: boolean;
}) {
  const [zoom, setZoom] = useState(1);
  const [selected, setSelected] = useState<{ lane: Lane; cluster: MarkCluster } | null>(null);
  const { ref, width } = useElementSize();
  const track = useRef<HTMLDivElement>(null);
  const inner = Math.min(MAX_WIDTH_PX, Math.max(200, width) * zoom);
  const { durationMs } = playback;
  const shown = LANES.filter((lane) => lanes[lane].length > 0 || SOUNDLESS.includes(lane));
  const clusters = useMemo(
    () =>
      Object.fromEntries(
        LANES.map((lane) => [lane, clustered(lanes[lane], (durationMs * MARK_PX) / inner)]),
      ) as Record<Lane, MarkCluster[]>,
    [lanes, durationMs, inner],
  );
  useCursor(track, playback, zoom);
  useHotkeys(
    [
      ['space', () => playback.toggle()],
      ['arrowleft', () => playback.seek(playback.timeMs - STEP_MS)],
      ['arrowright', () => playback.seek(playback.timeMs + STEP_MS)],
    ],
    ['INPUT', 'TEXTAREA', 'SELECT', 'BUTTON', 'A'],
  );

  function seekTo(event: PointerEvent<HTMLDivElement>) {
    if (event.button !== 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    playback.seek(((event.clientX - box.left) / box.width) * durationMs);
  }

  return (
    <Paper withBorder className="timeline" aria-label="Timeline" component="section">
      <Controls playback={playback} sound={sound} hasRecording={hasRecording} zoom={zoom} onZoom={setZoom} />
      {sound.error !== null && (
        <Stack p="sm">
          <ErrorMessage error={sound.error} onRetry={sound.retry} />
        </Stack>
      )}
      <div className="timeline-body">
        <div className="timeline-labels" aria-hidden>
          {sound.outline && (
            <>
              <span style={{ height: 44 }}>Caller</span>
              {sound.outline.channels.length > 1 && <span style={{ height: 44 }}>Agent</span>}
            </>
          )}
          {shown.map((lane) => (
            <span key={lane}>
              {sound.outline && SOUNDLESS.includes(lane)
                ? lane === 'caller'
                  ? 'Turns'
                  : ''
                : LANE_LABELS[lane]}
            </span>
          ))}
          <span />
        </div>
        <div className="timeline-scroll" ref={ref}>
          <div className="timeline-track" ref={track} style={{ width: inner }} onPointerDown={seekTo}>
            {sound.outline && <Waveform key={inner} outline={sound.outline} playback={playback} />}
            {shown.map((lane) => (
              <LaneRow
                key={lane}
                lane={lane}
                clusters={clusters[lane]}
                durationMs={durationMs}
                onPick={(cluster) => {
                  playback.seek(cluster.start_ms);
                  setSelected({ lane, cluster });
                }}
              />
            ))}
            <div className="timeline-ruler" aria-hidden>
              {timeSteps(durationMs, inner / 90).map((ms) => (
                <span key={ms} style={{ left: `${(ms / durationMs) * 100}%` }}>
                  {clock(ms)}
                </span>
              ))}
            </div>
            <div className="timeline-cursor" aria-hidden />
          </div>
        </div>
      </div>
      {selected && <Selected {...selected} playback={playback} onClose={() => setSelected(null)} />}
    </Paper>
  );
}

/** Moves the cursor without drawing anything else again, and keeps it in sight while it plays. */
function useCursor(track: React.RefObject<HTMLDivElement | null>, playback: Playback, zoom: number) {
  useEffect(() => {
    const move = () => {
      const element = track.current;
      if (!element) return;
      const share = playback.durationMs === 0 ? 0 : playback.timeMs / playback.durationMs;
      element.style.setProperty('--at', `${share * 100}%`);
      const scroll = element.parentElement;
      if (!scroll || zoom === 1 || !playback.playing) return;
      const x = share * element.clientWidth;
      if (x < scroll.scrollLeft || x > scroll.scrollLeft + scroll.clientWidth * 0.9)
        scroll.scrollLeft = x - scroll.clientWidth * 0.1;
    };
    move();
    return playback.subscribe(move);
  }, [track, playback, zoom]);
}

function Controls({
  playback,
  sound,
  hasRecording,
  zoom,
  onZoom,
}: {
  playback: Playback;
  sound: RecordingSound;
  hasRecording: boolean;
  zoom: number;
  onZoom: (zoom: number) => void;
}) {
  const playing = usePlayback(playback, (one) => one.playing);
  const ready = usePlayback(playback, (one) => one.hasSound);
  const second = usePlayback(playback, (one) => Math.floor(one.timeMs / 1000));
  const rate = usePlayback(playback, (one) => one.rate);
  return (
    <Group className="timeline-controls" gap="xs" wrap="wrap">
      <ActionIcon
        size={38}
        radius="xl"
        variant="filled"
        disabled={!ready}
        onClick={() => playback.toggle()}
        aria-label={playing ? 'Pause' : 'Play'}
      >
        {playing ? <Pause size={18} /> : <Play size={18} />}
      </ActionIcon>
      <ActionIcon
        size="lg"
        variant="subtle"
        color="gray"
        onClick={() => playback.seek(playback.timeMs - STEP_MS)}
        aria-label="Back 5 seconds"
      >
        <RotateCcw size={16} />
      </ActionIcon>
      <ActionIcon
        size="lg"
        variant="subtle"
        color="gray"
        onClick={() => playback.seek(playback.timeMs + STEP_MS)}
        aria-label="Forward 5 seconds"
      >
        <RotateCw size={16} />
      </ActionIcon>
      <Text size="sm" className="tabular" data-testid="time">
        {clock(second * 1000)} <span className="dim">/ {clock(playback.durationMs)}</span>
      </Text>
      <SoundState sound={sound} hasRecording={hasRecording} ready={ready} />
      <Group gap={4} ml="auto">
        {ready && (
          <Menu>
            <Menu.Target>
              <Button variant="default" size="compact-sm" aria-label={`Speed ${rate}×`}>
                {rate}×
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              {RATES.map((one) => (
                <Menu.Item key={one} onClick={() => (playback.rate = one)}>
                  {one}×
                </Menu.Item>
              ))}
            </Menu.Dropdown>
          </Menu>
        )}
        <Tooltip label="Zoom out">
          <ActionIcon
            disabled={zoom === 1}
            onClick={() => onZoom(Math.max(1, zoom / 2))}
            aria-label="Zoom out"
          >
            <ZoomOut size={16} />
          </ActionIcon>
        </Tooltip>
        <Tooltip label="Zoom in">
          <ActionIcon
            disabled={zoom >= MAX_ZOOM}
            onClick={() => onZoom(Math.min(MAX_ZOOM, zoom * 2))}
            aria-label="Zoom in"
          >
            <ZoomIn size={16} />
          </ActionIcon>
        </Tooltip>
      </Group>
    </Group>
  );
}

function SoundState({
  sound,
  hasRecording,
  ready,
}: {
  sound: RecordingSound;
  hasRecording: boolean;
  ready: boolean;
}) {
  if (sound.error !== null)
    return (
      <Text size="sm" c="red">
        The recording could not be loaded.
      </Text>
    );
  if (sound.streamed)
    return (
      <Text size="sm" c="dimmed">
        Long recording: it is played as it comes, and not drawn.
      </Text>
    );
  if (ready) return null;
  if (!hasRecording)
    return (
      <Text size="sm" c="dimmed">
        No recording
      </Text>
    );
  return (
    <Group gap={6}>
      <Loader size={14} />
      <Text size="sm" c="dimmed">
        Recording {Math.round(sound.loaded * 100)} %
      </Text>
    </Group>
  );
}

function LaneRow({
  lane,
  clusters,
  durationMs,
  onPick,
}: {
  lane: Lane;
  clusters: readonly MarkCluster[];
  durationMs: number;
  onPick: (cluster: MarkCluster) => void;
}) {
  return (
    <div className={`lane lane-${lane}`} role="group" aria-label={LANE_LABELS[lane]} onKeyDown={moveFocus}>
      {clusters.map((cluster, at) => {
        const [first] = cluster.marks;
        const left = (cluster.start_ms / durationMs) * 100;
        const wide = cluster.end_ms > cluster.start_ms;
        const worst =
          cluster.marks.find(({ tone }) => tone === 'bad') ??
          cluster.marks.find(({ tone }) => tone === 'cut') ??
          first!;
        const more = cluster.marks.length > 1 ? ` and ${cluster.marks.length - 1} more` : '';
        const title = `${clock(cluster.start_ms)} ${first!.title}${more}`;
        return (
          <button
            key={first!.id}
            type="button"
            tabIndex={at === 0 ? 0 : -1}
            className={`mark mark-${worst.tone}${wide ? ' mark-wide' : ''}`}
            style={{
              left: `${left}%`,
              ...(wide && { width: `${((cluster.end_ms - cluster.start_ms) / durationMs) * 100}%` }),
            }}
            title={title}
            aria-label={title}
            onPointerDown={(event) => event.stopPropagation()}
            onClick={() => onPick(cluster)}
          />
        );
      })}
    </div>
  );
}

/** One stop for the tabulator a lane; inside, the arrows go from mark to mark. */
function moveFocus(event: KeyboardEvent<HTMLDivElement>) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step === undefined) return;
  const marks = [...event.currentTarget.querySelectorAll('button')];
  const next = marks[marks.indexOf(document.activeElement as HTMLButtonElement) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

const MAX_SHOWN = 8;

function Selected({
  lane,
  cluster,
  playback,
  onClose,
}: {
  lane: Lane;
  cluster: MarkCluster;
  playback: Playback;
  onClose: () => void;
}) {
  return (
    <div className="timeline-selected" role="status">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Stack gap={8} style={{ minWidth: 0 }}>
          {cluster.marks.slice(0, MAX_SHOWN).map((mark) => (
            <div key={mark.id}>
              <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
                <button type="button" className="time-link" onClick={() => playback.playFrom(mark.start_ms)}>
                  {clock(mark.start_ms)}
                </button>{' '}
                <span className="dim">{LANE_LABELS[lane]}</span> <bdi>{mark.title}</bdi>
              </Text>
              <Details details={mark.details} />
            </div>
          ))}
          {cluster.marks.length > MAX_SHOWN && (
            <Text size="xs" c="dimmed">
              and {cluster.marks.length - MAX_SHOWN} more: zoom in
            </Text>
          )}
        </Stack>
        <ActionIcon variant="subtle" color="gray" onClick={onClose} aria-label="Close">
          <X size={16} />
        </ActionIcon>
      </Group>
    </div>
  );
}

/** Names and values as they came: text, whatever it says. */
export function Details({ details }: { details: readonly { name: string; value: string }[] }) {
  if (details.length === 0) return null;
  return (
    <dl className="details">
      {details.map(({ name, value }, at) => (
        <div key={at}>
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
