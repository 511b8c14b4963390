import type { IncomingHttpHeaders } from 'node:http';
import { TooManyRequestsError, UnavailableError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import { HttpResponse } from '../http/operation.ts';
import { principalId, type Principal } from '../tenancy/principal.ts';
import type { LiveFeed } from './live-feed.ts';
import { LiveStream, type LiveSource } from './live-stream.ts';

const MAX_STREAMS = 500;
const MAX_STREAMS_PER_CALLER = 10;
const RETRY_SECONDS = 10;

/** Content type of server-sent events. */
export const EVENT_STREAM = 'text/event-stream';

/** Of a request that is answered by a stream. */
export interface LiveRequest {
  caller: Principal;
  /** @throws AppError once the caller would be refused */
  permitAgain(): Promise<void>;
  signal: AbortSignal;
}

/** All streams of server-sent events that this process answers with. */
export class LiveStreams {
  readonly #feed: LiveFeed;
  readonly #clock: Clock;
  readonly #streams = new Set<LiveStream>();
  readonly #byCaller = new Map<string, number>();
  #isClosed = false;

  constructor({ feed, clock }: { feed: LiveFeed; clock: Clock }) {
    this.#feed = feed;
    this.#clock = clock;
  }

  /** @throws TooManyRequestsError `too_many_streams`; UnavailableError */
  async open({ caller, permitAgain, signal }: LiveRequest, source: LiveSource): Promise<HttpResponse> {
    const leave = this.#enter(principalId(caller));
    let unfollow: (() => void) | undefined;
    let ended: (() => void) | undefined;
    const stream: LiveStream = new LiveStream({
      ...{ source, signal, clock: this.#clock, mayRead: permitAgain },
      onClosed: () => {
        unfollow?.();
        ended?.();
        this.#streams.delete(stream);
        leave();
      },
    });
    this.#streams.add(stream);
    try {
      unfollow = await this.#feed.follow(source.topic, stream);
    } catch (error) {
      stream.body.destroy();
      throw error;
    }
    // The client may have gone meanwhile.
    if (stream.body.destroyed) unfollow();
    else ended = source.opened?.();
    return new HttpResponse(200, stream.body, {
      'Content-Type': `${EVENT_STREAM}; charset=utf-8`,
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    });
  }

  /** Ends all of them, and takes no more: their clients find another process. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.close();
  }

  /** @returns gives the place back, once */
  #enter(caller: string): () => void {
    if (this.#isClosed) throw new UnavailableError('The service is stopping. Retry in a few seconds.');
    const own = this.#byCaller.get(caller) ?? 0;
    if (own >= MAX_STREAMS_PER_CALLER) throw tooMany(`This caller has ${own} live streams open`);
    if (this.#streams.size >= MAX_STREAMS) throw tooMany('This process has as many live streams as it can');
    this.#byCaller.set(caller, own + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const now = (this.#byCaller.get(caller) ?? 1) - 1;
      if (now === 0) this.#byCaller.delete(caller);
      else this.#byCaller.set(caller, now);
    };
  }
}

/** Whether a client asks for events as they come. */
export function wantsEventStream(headers: IncomingHttpHeaders): boolean {
  return (headers.accept ?? '').toLowerCase().includes(EVENT_STREAM);
}

/** Where a client that was cut off goes on. */
export function lastEventId(headers: IncomingHttpHeaders): string | undefined {
  const id = headers['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : undefined;
}

function tooMany(what: string): TooManyRequestsError {
  return new TooManyRequestsError('too_many_streams', `${what}. Close one of them.`, RETRY_SECONDS);
}
