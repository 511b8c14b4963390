import type { Model } from 'mongoose';
import type { KnownCallEvent } from '@parley/shared/contracts/call-events';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { toolCallCollection } from './tool-call-model.ts';
import type { ToolCallRecord } from './tool-call-model.ts';

/** The longest name or id of a tool: a model invented any longer one. */
const MAX_NAME = 256;

type ToolEvent = Extract<KnownCallEvent, { type: 'tool_started' | 'tool_finished' }>;
type ToolFinished = Extract<KnownCallEvent, { type: 'tool_finished' }>;

/** The calls of tools over all sessions, kept from the gateways' `tool_started` and `tool_finished`. */
export class ToolCallLog {
  readonly #calls: Model<ToolCallRecord>;

  constructor({ database }: { database: Database }) {
    this.#calls = database.model(toolCallCollection);
  }

  /** Takes an event of a session; the same one again changes nothing, and what is of no tool is passed over. */
  async store(session: SessionRecord, event: KnownCallEvent): Promise<void> {
    if (event.type !== 'tool_started' && event.type !== 'tool_finished') return;
    if (event.data.tool_call_id.length > MAX_NAME || event.data.name.length > MAX_NAME) return;
    if (event.type === 'tool_finished') await this.#finish(session, event);
    else await this.#insert(session, event, { arguments: event.data.arguments });
  }

  async erase(sessionId: string): Promise<void> {
    await this.#calls.deleteMany({ session_id: sessionId });
  }

  async #finish(session: SessionRecord, event: ToolFinished): Promise<void> {
    const { data } = event;
    const call = { session_id: session._id, tool_call_id: data.tool_call_id };
    const set = {
      ok: data.ok,
      outcome: data.outcome ?? null,
      status: data.status ?? null,
      code: data.code ?? null,
      result: data.result,
      duration_ms: data.duration_ms,
      finished_event_id: event.id,
    };
    if (await this.#calls.exists({ ...call, finished_event_id: event.id })) return;
    const begun = await this.#calls.findOneAndUpdate({ ...call, ok: null }, { $set: set });
    // Starts may be dropped by a gateway whose queue is full, ends never come before them.
    if (!begun) await this.#insert(session, event, set);
  }

  async #insert(session: SessionRecord, event: ToolEvent, more: Partial<ToolCallRecord>): Promise<void> {
    try {
      await this.#calls.create({
        _id: event.id,
        org_id: session.org_id,
        project_id: session.project_id,
        session_id: session._id,
        agent_id: session.agent_id,
        tool_id: event.data.tool_id,
        tool_name: event.data.name,
        kind: event.data.kind ?? null,
        tool_call_id: event.data.tool_call_id,
        offset_ms: event.offset_ms,
        created_at: new Date(event.at),
        ...more,
      });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }
}
