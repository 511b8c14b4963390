import type { Clock, Timer } from '@parley/shared/time/clock';
import type { WireSocket } from '../../server/wire-socket.ts';
import { sampleMs } from '../../server/delays.ts';
import type { FaultPlan } from '../../server/faults.ts';
import type { Ears } from '../../recogniser/ears.ts';
import type { RawFormat } from '../../recogniser/level-meter.ts';
import { AudioIntake, UndecodableAudioError } from './audio-intake.ts';
import { FluxSession } from './flux-session.ts';
import type { FluxQuery, NovaQuery } from './listen-query.ts';
import { NovaSession } from './nova-session.ts';
import type { DeepgramStats, ListenSettings } from './listen-settings.ts';
import { modelInfo } from './listen-settings.ts';
import { NO_AUDIO_REASON, SendQueue } from './send-queue.ts';
import type { DeepgramFault, WireMessage } from './send-queue.ts';

export interface ListenDeps {
  socket: WireSocket;
  requestId: string;
  settings: ListenSettings;
  stats: DeepgramStats;
  faults: FaultPlan<DeepgramFault>;
  clock: Clock;
  random: () => number;
  /** Ears for one channel of this connection. */
  listen: (format: RawFormat, tag: string | undefined) => Ears;
}

const UNDECODABLE_CODE = 1008;
const UNDECODABLE_REASON = 'DATA-0000: The payload cannot be decoded as audio. See https://dpgr.am/data0000';

/** Serves one socket of `/v1/listen` until it closes. */
export function serveNova(deps: ListenDeps, query: NovaQuery): void {
  const { socket, requestId, settings, stats, clock } = deps;
  const sendQueue = createSendQueue(deps);
  const metadata = {
    request_id: requestId,
    model_uuid: '00000000-0000-4000-8000-000000000000',
    model_info: modelInfo(query.model),
  };
  const sessions: NovaSession[] = [];
  const ears: Ears[] = [];
  const created = new Date(clock.now()).toISOString();
  let heardAudio = false;
  let finishing = false;

  const intake = new AudioIntake({
    format: query.format,
    channels: query.channels,
    onFormat(format, channels) {
      for (let channel = 0; channel < channels; channel++) {
        const own = deps.listen(format, query.tag);
        ears.push(own);
        const perChannel = { ...query, channels };
        sessions.push(
          new NovaSession({
            ears: own,
            query: perChannel,
            timing: settings.nova,
            sink: sendQueue,
            channel,
            metadata,
          }),
        );
      }
    },
    onAudio: (channel, bytes) => ears[channel]!.push(bytes),
  });

  const idle = watchIdle(clock, settings.idleTimeoutMs, () => {
    stats.idle_closes += 1;
    sendQueue.close(1011, NO_AUDIO_REASON);
  });

  const onText: Record<string, (message: Record<string, unknown>) => void> = {
    KeepAlive() {
      stats.keep_alives += 1;
      if (heardAudio || !settings.keepAliveNeedsAudio) idle.touch();
    },
    Finalize(message) {
      stats.finalizes += 1;
      idle.touch();
      if (sendQueue.ignoresFinalize()) return;
      const { channel } = message;
      ears.forEach((one, index) => {
        if (typeof channel !== 'number' || channel === index) one.flush(() => sessions[index]!.finalize());
      });
    },
    CloseStream: () => closeStream(),
  };

  function closeStream(): void {
    if (finishing) return;
    finishing = true;
    idle.stop();
    let left = ears.length;
    const whenDone = () => {
      sessions.forEach((session) => session.finish());
      const message = {
        type: 'Metadata',
        transaction_key: 'deprecated',
        request_id: requestId,
        // Of the audio, at the vendor's; nobody reads it, and hashing would cost more than hearing.
        sha256: '0'.repeat(64),
        created,
        duration: (ears[0]?.atMs ?? 0) / 1000,
        channels: query.channels,
        model_info: modelInfo(query.model),
      };
      sendQueue.send(message, settings.nova.finalize);
      sendQueue.close(settings.closeCode, '');
    };
    if (left === 0) whenDone();
    for (const one of ears) {
      one.flush(() => {
        left -= 1;
        if (left === 0) whenDone();
      });
    }
  }

  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (finishing) return;
    if (!isBinary) {
      const message = parseText(data);
      if (!message) {
        sendQueue.close(UNDECODABLE_CODE, 'DATA-0000: The text message is not valid JSON.');
        return;
      }
      onText[String(message['type'])]?.(message);
      return;
    }
    const bytes = data;
    stats.audio_frames += 1;
    stats.audio_bytes += bytes.length;
    if (bytes.length === 0) {
      // The older way of ending a stream.
      stats.empty_frames += 1;
      closeStream();
      return;
    }
    heardAudio = true;
    idle.touch();
    take(intake, bytes, sendQueue);
  });
  ownUntilClosed(deps, sendQueue, idle, () => ears);
}

/** Serves one socket of `/v2/listen` until it closes. */
export function serveFlux(deps: ListenDeps, query: FluxQuery): void {
  const { socket, requestId, settings, stats, clock, random } = deps;
  const sendQueue = createSendQueue(deps);
  const timing = {
    updateEveryMs: settings.flux.updateEveryMs,
    startOfTurnMs: settings.flux.startOfTurnMs,
    endOfTurnMs: () => sampleMs(settings.flux.endOfTurn, random),
    idleUpdates: settings.flux.idleUpdates,
  };
  let ears: Ears | undefined;
  let sequence = 0;
  let finishing = false;
  // Its delays are silences in the audio, which have passed when something is sent.
  const send = ({ type, ...fields }: WireMessage) =>
    sendQueue.send({ type, request_id: requestId, sequence_id: sequence++, ...fields }, 0);
  const session = new FluxSession({ query, timing, turns: sendQueue, send });
  send({ type: 'Connected' });

  const intake = new AudioIntake({
    format: query.format,
    channels: 1,
    onFormat(format) {
      ears = deps.listen(format, query.tag);
      session.hear(ears);
    },
    onAudio: (_channel, bytes) => ears!.push(bytes),
  });

  const idle = watchIdle(clock, settings.flux.idleTimeoutMs, () => {
    stats.idle_closes += 1;
    fail('NET-0001', NO_AUDIO_REASON, 1011);
  });
  // There is no KeepAlive here: protocol pings hold the socket.
  socket.on('ping', () => idle.touch());

  function fail(code: string, description: string, closeCode: number): void {
    finishing = true;
    idle.stop();
    send({ type: 'Error', code, description });
    sendQueue.close(closeCode, description.slice(0, 120));
  }

  function afterAudio(run: () => void): void {
    if (ears) ears.flush(run);
    else run();
  }

  const onText: Record<string, (message: Record<string, unknown>) => void> = {
    Configure: (message) => afterAudio(() => session.configure(message)),
    CloseStream() {
      finishing = true;
      idle.stop();
      afterAudio(() => {
        session.finish();
        sendQueue.close(settings.closeCode, '');
      });
    },
  };
  if (settings.flux.forceEndTurn) onText['ForceEndTurn'] = () => afterAudio(() => session.forceEndTurn());

  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (finishing) return;
    if (!isBinary) {
      const message = parseText(data);
      const act = message && onText[String(message['type'])];
      if (!act) {
        fail('UNPARSABLE_CLIENT_MESSAGE', 'The message is not supported on /v2/listen.', 1008);
        return;
      }
      idle.touch();
      act(message);
      return;
    }
    const bytes = data;
    stats.audio_frames += 1;
    stats.audio_bytes += bytes.length;
    if (bytes.length === 0) {
      stats.empty_frames += 1;
      return;
    }
    idle.touch();
    take(intake, bytes, sendQueue);
  });
  ownUntilClosed(deps, sendQueue, idle, () => (ears ? [ears] : []));
}

function createSendQueue({ socket, faults, clock, random, stats }: ListenDeps): SendQueue {
  return new SendQueue({
    socket,
    faults,
    clock,
    random,
    onMessage: (type) => {
      stats.messages[type] = (stats.messages[type] ?? 0) + 1;
    },
    onUtterance: () => {
      stats.utterances += 1;
    },
  });
}

function take(intake: AudioIntake, bytes: Buffer, sendQueue: SendQueue): void {
  try {
    intake.push(bytes);
  } catch (error) {
    if (!(error instanceof UndecodableAudioError)) throw error;
    sendQueue.close(UNDECODABLE_CODE, UNDECODABLE_REASON);
  }
}

function parseText(data: Buffer): Record<string, unknown> | undefined {
  try {
    const message: unknown = JSON.parse(data.toString());
    return typeof message === 'object' && message !== null ? (message as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

interface IdleWatch {
  touch(): void;
  stop(): void;
}

/** One timer a connection: touching it only notes the time, as that happens with every frame. */
function watchIdle(clock: Clock, timeoutMs: number, onIdle: () => void): IdleWatch {
  let touchedMs = clock.monotonic();
  let timer: Timer = clock.setTimeout(check, timeoutMs);
  function check(): void {
    const leftMs = touchedMs + timeoutMs - clock.monotonic();
    if (leftMs <= 0) onIdle();
    else timer = clock.setTimeout(check, leftMs);
  }
  return {
    touch() {
      touchedMs = clock.monotonic();
    },
    stop: () => timer.cancel(),
  };
}

function ownUntilClosed(
  { socket, stats }: ListenDeps,
  sendQueue: SendQueue,
  idle: IdleWatch,
  ears: () => Ears[],
): void {
  stats.connections += 1;
  stats.open += 1;
  socket.on('close', () => {
    stats.open -= 1;
    idle.stop();
    sendQueue.dispose();
    for (const one of ears()) one.close();
  });
}
