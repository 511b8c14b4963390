import t from 'tap';
import {
  COMPLAINT_STATES,
  COMPLAINT_TRANSITIONS,
  takesProof,
  toldEvent,
  type ComplaintEvent,
  type ComplaintState,
} from './complaint-states.ts';

/** What is promised: from → to, and by what. All that is not here stays where it is. */
const PROMISED: [from: ComplaintState, event: ComplaintEvent, to: ComplaintState][] = [
  ['pending', 'proof_taken', 'proof_submitted'],
  ['pending', 'deadline_passed', 'expired'],
  ['proof_submitted', 'told_accepted', 'accepted'],
  ['proof_submitted', 'told_rejected', 'rejected'],
  ['rejected', 'proof_taken', 'proof_submitted'],
  // A proof that was handed in at the carrier itself.
  ['pending', 'told_proof_submitted', 'proof_submitted'],
  ['pending', 'told_accepted', 'accepted'],
  ['pending', 'told_rejected', 'rejected'],
  ['rejected', 'told_proof_submitted', 'proof_submitted'],
  ['rejected', 'told_accepted', 'accepted'],
  // A deadline that we have computed is no word of the carrier.
  ['expired', 'told_proof_submitted', 'proof_submitted'],
  ['expired', 'told_accepted', 'accepted'],
  ['expired', 'told_rejected', 'rejected'],
  ['expired', 'proof_taken', 'proof_submitted'],
];

void t.test('every state has an answer to everything that may happen', (t) => {
  let cells = 0;
  for (const from of COMPLAINT_STATES)
    for (const event of Object.keys(COMPLAINT_TRANSITIONS[from]) as ComplaintEvent[]) {
      cells++;
      const to = PROMISED.find(([state, what]) => state === from && what === event)?.[2] ?? from;
      t.equal(COMPLAINT_TRANSITIONS[from][event], to, `${from}, ${event}`);
    }
  t.equal(cells, 30);
  t.same(COMPLAINT_STATES.filter(takesProof), ['pending', 'rejected']);
  t.end();
});

void t.test("carriers' words are read as they write them, and unknown ones mean nothing", (t) => {
  const words: [string | null, ComplaintEvent | undefined][] = [
    ['pending', 'told_pending'],
    ['Rejected', 'told_rejected'],
    [' ACCEPTED ', 'told_accepted'],
    ['Proof-Submitted', 'told_proof_submitted'],
    ['proof submitted', 'told_proof_submitted'],
    ['under_review', undefined],
    ['constructor', undefined],
    ['', undefined],
    [null, undefined],
  ];
  for (const [word, event] of words) t.equal(toldEvent(word), event, String(word));
  t.end();
});
