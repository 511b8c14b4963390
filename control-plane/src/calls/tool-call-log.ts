import type { Model } from 'mongoose';
import { z } from 'zod';
import type { CallEvent } from '@parley/shared/contracts/call-events';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { SessionRecord } from '../sessions/session-model.ts';
import { toolCallCollection } from './tool-call-model.ts';
import type { ToolCallRecord } from './tool-call-model.ts';

const aboutCall = z.object({
  tool_call_id: z.string().max(256),
  tool_id: z.string().max(64).nullish(),
  name: z.string().max(256),
});
const startedData = aboutCall.extend({ arguments: z.string().nullish().catch(null) });
const finishedData = aboutCall.extend({
  ok: z.boolean(),
  duration_ms: z.number().nullish().catch(null),
  status: z.number().int().nullish().catch(null),
  code: z.string().nullish().catch(null),
  result: z.string().nullish().catch(null),
});

/** The calls of tools over all sessions, kept from the gateways' `tool_started` and `tool_finished`. */
export class ToolCallLog {
  readonly #calls: Model<ToolCallRecord>;

  constructor({ database }: { database: Database }) {
    this.#calls = database.model(toolCallCollection);
  }

  /** Takes an event of a session; the same one again changes nothing, and what is of no tool is passed over. */
  async store(session: SessionRecord, event: CallEvent): Promise<void> {
    if (event.type === 'tool_started') {
      const { data } = startedData.safeParse(event.data);
      if (data) await this.#insert(session, event, data, { arguments: data.arguments ?? null });
    } else if (event.type === 'tool_finished') {
      const { data } = finishedData.safeParse(event.data);
      if (data) await this.#finish(session, event, data);
    }
  }

  async erase(sessionId: string): Promise<void> {
    await this.#calls.deleteMany({ session_id: sessionId });
  }

  async #finish(
    session: SessionRecord,
    event: CallEvent,
    data: z.output<typeof finishedData>,
  ): Promise<void> {
    const call = { session_id: session._id, tool_call_id: data.tool_call_id };
    const set = {
      ok: data.ok,
      status: data.status ?? null,
      code: data.code ?? null,
      result: data.result ?? null,
      duration_ms: data.duration_ms ?? null,
      finished_event_id: event.id,
    };
    if (await this.#calls.exists({ ...call, finished_event_id: event.id })) return;
    const begun = await this.#calls.findOneAndUpdate({ ...call, ok: null }, { $set: set });
    // Starts may be dropped by a gateway whose queue is full, ends never come before them.
    if (!begun) await this.#insert(session, event, data, set);
  }

  async #insert(
    session: SessionRecord,
    event: CallEvent,
    data: z.output<typeof aboutCall>,
    more: Partial<ToolCallRecord>,
  ): Promise<void> {
    try {
      await this.#calls.create({
        _id: event.id,
        org_id: session.org_id,
        project_id: session.project_id,
        session_id: session._id,
        agent_id: session.agent_id,
        tool_id: data.tool_id ?? null,
        tool_name: data.name,
        tool_call_id: data.tool_call_id,
        offset_ms: event.offset_ms,
        created_at: new Date(event.at),
        ...more,
      });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }
}
