import type { TimedWord, TurnLatency } from '@parley/shared/contracts/turn';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** One thing said, as committed. `_id` is `<session>:<index>`, so that the same turn again replaces itself. */
export interface TurnRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  session_id: string;
  turn_index: number;
  role: 'agent' | 'caller' | 'operator';
  text: string;
  start_ms: number;
  end_ms: number;
  language: string | null;
  interrupted: boolean;
  /** Not in records of earlier versions. */
  backchannel?: boolean;
  confidence: number | null;
  node_id: string | null;
  redacted: boolean;
  latency: TurnLatency | null;
  /** When each was said; null where it is not known. Many times the text: read only where it is asked for. */
  words?: readonly TimedWord[] | null;
}

export const turnCollection = defineCollection<TurnRecord, 'project'>({
  name: 'turns',
  tenancy: 'project',
  fields: {
    session_id: { type: String, required: true },
    turn_index: { type: Number, required: true },
    role: { type: String, required: true },
    text: { type: String, default: '' },
    start_ms: { type: Number, required: true },
    end_ms: { type: Number, required: true },
    language: { type: String, default: null },
    interrupted: { type: Boolean, default: false },
    backchannel: { type: Boolean, default: false },
    confidence: { type: Number, default: null },
    node_id: { type: String, default: null },
    redacted: { type: Boolean, default: false },
    latency: { type: Object, default: null },
    words: { type: Object, default: null, select: false },
  },
  indexes: [[{ session_id: 1, turn_index: 1 }, { unique: true }]],
});
