import t from 'tap';
import { HeardLedger } from './heard-ledger.ts';
import { Speech } from './speech.ts';

/** A byte is an eighth of a millisecond; the call was answered at 1000. */
function ledgerOf() {
  const recorded: [ms: number, at: number][] = [];
  const ledger = new HeardLedger({
    recorder: { agent: (bytes, at) => void recorded.push([bytes.length / 8, at]) },
    format: { encoding: 'pcmu', sampleRate: 8000 },
    zero: 1000,
  });
  const speech = (...chunks: number[]) => {
    const one = new Speech({ onStarted() {}, onFinished() {} });
    for (const ms of chunks) one.chunks.push(new Uint8Array(ms * 8));
    one.availableBytes = chunks.reduce((sum, ms) => sum + ms * 8, 0);
    one.startedAt = 1500;
    return one;
  };
  return { recorded, ledger, speech };
}

void t.test('what was heard is recorded where it was heard, and let go of', (t) => {
  const { recorded, ledger, speech } = ledgerOf();
  t.equal(ledger.lastHeardAt, undefined);
  const one = speech(30, 30, 40);
  one.runs.push({ startByte: 0, at: 1500 });
  ledger.note(one, 50 * 8);
  t.same(recorded, [
    [30, 500],
    [20, 530],
  ]);
  t.equal(ledger.lastHeardAt, 1550);
  t.equal(one.chunks.length, 2, 'the first is not needed any more');
  ledger.note(one, 50 * 8);
  ledger.note(one, 10);
  t.equal(recorded.length, 2, 'once');
  one.runs.push({ startByte: 70 * 8, at: 3000 });
  ledger.note(one, 100 * 8);
  t.same(recorded.slice(2), [
    [10, 550],
    [10, 560],
    [30, 2000],
  ]);
  t.equal(ledger.lastHeardAt, 3030);
  t.equal(ledger.talkedMs, 100);
  t.same(one.pastRuns, [{ startByte: 0, at: 1500 }]);
  t.equal(ledger.noteOther(new Uint8Array(80), 4000), 4010);
  t.same(recorded.at(-1), [10, 3000]);
  t.equal(ledger.talkedMs, 110);
  t.end();
});

void t.test('an account has the words that were heard, with their times', (t) => {
  const { ledger, speech } = ledgerOf();
  const one = speech(400);
  one.complete = true;
  one.pieces.push(
    { text: 'one two', units: undefined, startByte: 0 },
    { text: 'three', units: undefined, startByte: 1600 },
  );
  for (const [text, startMs] of [
    ['one', 0],
    ['two', 100],
    ['three', 200],
  ] as const)
    one.words.push({ text, startMs, endMs: startMs + 100 });
  t.same(ledger.account(one, 0, false), {
    ...{ text: '', complete: false, heardMs: 0, startedAt: 1500, endedAt: undefined, words: [] },
  });
  one.runs.push({ startByte: 0, at: 1500 }, { startByte: 150 * 8, at: 2000 });
  ledger.note(one, 400 * 8);
  const times = (heardMs: number, complete: boolean) => {
    const { text, words } = ledger.account(one, heardMs * 8, complete);
    return [text, ...words!.map(({ text, startedAt, endedAt }) => `${text} ${startedAt}-${endedAt}`)];
  };
  t.same(times(400, true), ['one two three', 'one 1500-1600', 'two 1600-2050', 'three 2050-2150']);
  t.same(times(150, false), ['one two', 'one 1500-1600', 'two 1600-1650']);
  t.match(ledger.account(one, 3200, true), { heardMs: 400, endedAt: 2250, complete: true });
  one.words[0]!.estimated = true;
  t.same(
    times(400, true)
      .slice(1)
      .map((word) => String(word).split(' ')[0]),
    ['two', 'three'],
    'no voice has told its time',
  );
  t.end();
});
