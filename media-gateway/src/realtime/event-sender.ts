import { randomBytes } from 'node:crypto';
import type { Socket } from '../server/socket.ts';
import type { EventFault } from './client-events.ts';
import { toWireItem } from './conversation-items.ts';
import type { Item } from './conversation-items.ts';

/** A server event without its `event_id`. */
export interface ServerEvent {
  type: string;
  [field: string]: unknown;
}

/** What a session needs of its WebSocket. */
export type SessionSocket = Pick<Socket, 'send' | 'end' | 'bufferedBytes' | 'cork'>;

/** Sends server events, and makes the ids in them. */
export class EventSender {
  readonly #socket: SessionSocket;
  readonly #prefix = randomBytes(9).toString('base64url');
  #nextId = 0;
  #closed = false;

  constructor(socket: SessionSocket) {
    this.#socket = socket;
  }

  send(event: ServerEvent): void {
    if (this.#closed) return;
    const { type, ...rest } = event;
    this.#socket.send(JSON.stringify({ type, event_id: this.newId('event'), ...rest }));
  }

  error(fault: EventFault): void {
    this.send({ type: 'error', error: { type: 'invalid_request_error', ...fault } });
  }

  /** An item that is complete as it comes. @param previous id of the one before it */
  item(item: Item, previous: string | null): void {
    const placed = { previous_item_id: previous, item: toWireItem(item) };
    this.send({ type: 'conversation.item.added', ...placed });
    this.send({ type: 'conversation.item.done', ...placed });
  }

  newId(kind: 'event' | 'item' | 'resp'): string {
    return `${kind}_${this.#prefix}${(this.#nextId++).toString(36)}`;
  }

  /** Sends what `task` sends in one packet where it can. */
  cork(task: () => void): void {
    this.#socket.cork(task);
  }

  /** Nothing is sent from here on. */
  close(): void {
    this.#closed = true;
  }
}
