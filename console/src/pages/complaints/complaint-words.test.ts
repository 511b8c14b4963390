import t from 'tap';
import { MAX_PROOF_BYTES, problemOf, takesProof, timeLeft } from './complaint-words.ts';
import type { Complaint } from './complaint-words.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const due = (deadline_at: string, status = 'pending') => ({ status, deadline_at }) as Complaint;

void t.test('a proof is taken until the deadline, and it is said how long that is', async (t) => {
  const left = (deadline_at: string, status?: string) => timeLeft(due(deadline_at, status), NOW);
  t.equal(left('2026-01-04T23:00:00Z'), '3 days left');
  t.equal(left('2026-01-02T23:59:00Z'), '47 hours left');
  t.equal(left('2026-01-01T01:59:00Z', 'rejected'), '1 hour left');
  t.equal(left('2026-01-01T00:59:00Z'), 'Less than an hour left');
  t.equal(left('2026-01-01T00:00:00Z'), null);
  t.equal(left('2026-01-04T00:00:00Z', 'accepted'), null);
  t.notOk(takesProof(due('2026-01-04T00:00:00Z', 'proof_submitted'), NOW));
});

void t.test('a proof is a file of 5 MiB at most, or an address', async (t) => {
  const file = (bytes: number) => ({ size: bytes }) as File;
  t.match(problemOf({ file: null, url: ' ' }), /Choose/);
  t.match(problemOf({ file: file(0), url: '' }), /empty/);
  t.match(problemOf({ file: file(MAX_PROOF_BYTES + 1), url: '' }), /larger/);
  t.match(problemOf({ file: null, url: 'crm.example.com' }), /https/);
  t.equal(problemOf({ file: file(MAX_PROOF_BYTES), url: '' }), null);
  t.equal(problemOf({ file: null, url: 'https://crm.example.com/42.pdf' }), null);
});
