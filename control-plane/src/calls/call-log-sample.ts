import { MANY_SESSION, MANY_START, nthId, nthSession } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

export const callLogSample: Sample = {
  many: ({ inProject }) => [
    {
      collection: 'tool_calls',
      count: 1500,
      record: (n, rare) => ({
        ...inProject,
        _id: nthId('evt', n),
        session_id: nthSession(n),
        agent_id: rare ? nthId('agt', 2) : nthId('agt', 1),
        tool_id: rare ? nthId('tol', 2) : nthId('tol', 1),
        tool_name: 'weather',
        tool_call_id: 'call_0',
        ok: !rare,
        offset_ms: 0,
      }),
    },
    {
      collection: 'session_events',
      count: 3000,
      record: (n, rare) => ({
        ...inProject,
        _id: nthId('evt', n),
        session_id: MANY_SESSION,
        index: n * 10,
        at: new Date(MANY_START + n),
        offset_ms: n,
        type: rare ? 'warning' : 'turn_decision',
        data: {},
      }),
    },
  ],
  filters: () => ({
    after_index: ['100', '29900'],
    tool_id: [nthId('tol', 1), nthId('tol', 2), nthId('tol', 3)],
  }),
};
