import type { CallWait } from '../callers/call-wait.ts';

/** What a document says of a conference. */
export interface ConferenceWish {
  name: string;
  /** Whether it is over for all when this call leaves it. */
  endsOnExit: boolean;
}

interface Room {
  readonly members: Set<string>;
  readonly over: PromiseWithResolvers<void>;
}

/** Conferences of one account: there as long as somebody is in them. */
export class Conferences {
  readonly #rooms = new Map<string, Room>();

  /** Has a call take part, until `wait` is cut short or somebody's leaving ends the conference. */
  async attend(
    callId: string,
    { name, endsOnExit }: ConferenceWish,
    wait: CallWait,
    onJoined?: (name: string) => void,
  ): Promise<void> {
    const room = this.#rooms.get(name) ?? { members: new Set<string>(), over: Promise.withResolvers<void>() };
    this.#rooms.set(name, room);
    room.members.add(callId);
    onJoined?.(name);
    await wait.until(room.over.promise);
    room.members.delete(callId);
    if (!endsOnExit && room.members.size > 0) return;
    if (this.#rooms.get(name) === room) this.#rooms.delete(name);
    room.over.resolve();
  }
}
