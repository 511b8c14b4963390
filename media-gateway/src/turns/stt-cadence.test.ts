import t from 'tap';
import { SttCadence } from './stt-cadence.ts';

/** What is heard in each 20 ms: `#` loud, `~` soft, `.` silence. @returns how many frames each piece holds; the rest waits */
function pieces(sound: string, { noisy = false, open = false, cadence = new SttCadence() } = {}): number[] {
  const sent: number[] = [];
  let waiting = 0;
  for (const frame of sound) {
    waiting++;
    if (cadence.mayWait(20, { loud: frame === '#', silent: frame === '.', noisy }, open)) continue;
    sent.push(waiting);
    waiting = 0;
  }
  return sent;
}

const times = (count: number, frames: number) => Array.from<number>({ length: count }).fill(frames);

void t.test('silence goes out in pieces of 200 ms', async (t) => {
  t.same(pieces('.'.repeat(30)), [10, 10, 10]);
  t.same(pieces('.'.repeat(9)), [], 'less than that waits');
});

/** The first 200 ms of a sound; the last frame waits. */
const ONSET = [1, 2, 2, 2, 2];

void t.test('the first sound takes what waited with it, and a word begins in pieces of 40 ms', async (t) => {
  t.same(pieces('...#####'), [4, 2, 2]);
  t.same(pieces(`...${'#'.repeat(20)}`), [4, 2, 2, 2, 2, 5, 5], 'after 200 ms in pieces of 100 ms');
});

void t.test('a word that begins softly does not wait until it is loud', async (t) => {
  t.same(pieces('...~~##.'), [4, 1, 1, 2]);
});

void t.test('the first frame after a sound goes at once, and each that may end a turn', async (t) => {
  const speech = '#'.repeat(13);
  t.same(pieces(`${speech}.`), [...ONSET, 5], 'the last loud frames do not wait for others');
  t.same(pieces(`${speech}....`), [...ONSET, 5, 3], 'the next 60 ms end no turn');
  t.same(pieces(`${speech}~~~~`), [...ONSET, 5, 3], 'nor do soft ones');
  t.same(
    pieces(`${speech}${'.'.repeat(70)}`),
    [...ONSET, 5, 3, ...times(46, 1), 10, 10],
    'for a second, if it is not told',
  );
});

void t.test('an STT that ends turns sooner gets each frame of a gap', async (t) => {
  const word = '#'.repeat(10);
  t.same(pieces(`${word}....`, { cadence: new SttCadence(99) }), [...ONSET, 2, 1, 1, 1]);
  t.same(pieces(`${word}....`, { cadence: new SttCadence(100) }), [...ONSET, 2, 3]);
});

void t.test('once the end of a turn is told, silence goes out in pieces until the next sound', async (t) => {
  const cadence = new SttCadence();
  const word = '#'.repeat(10);
  t.same(pieces(`${word}${'.'.repeat(10)}`, { cadence }), [...ONSET, 2, 3, ...times(6, 1)]);
  cadence.turnEnded();
  t.same(pieces('.'.repeat(20), { cadence }), [10, 10]);
  t.same(pieces('~.', { cadence }), [1], 'a soft word does not wait');
  cadence.turnEnded();
  t.same(
    pieces(`..${word}......`, { cadence }),
    [3, 2, 2, 2, 2, 2, 3, 1, 1],
    'what follows the next sound does not, either',
  );
});

void t.test('words that go on behind the end of a turn are waited for as before', async (t) => {
  const cadence = new SttCadence();
  pieces('#'.repeat(10), { cadence });
  cadence.turnEnded();
  t.same(pieces('.'.repeat(7), { open: true, cadence }), [1, 3, 1, 1, 1]);
});

void t.test('a gap within a word does not begin it anew, a pause does', async (t) => {
  const word = '#'.repeat(14);
  t.same(pieces(`${word}...#####`), [...ONSET, 5, 1, 5], 'what waits of the gap goes with the word');
  t.same(pieces(`${word}......####`), [...ONSET, 5, 1, 3, 1, 1, 1, 2]);
});

void t.test('while words wait for the end of their turn nothing else waits', async (t) => {
  const cadence = new SttCadence();
  t.same(pieces('.'.repeat(100), { open: true, cadence }), times(100, 1));
  t.same(pieces('.'.repeat(20), { cadence }), [10, 10], 'and then as before');
});

void t.test('in noise the end of speech cannot be told by loudness: loud frames go at once', async (t) => {
  t.same(pieces(`${'#'.repeat(40)}.....`, { noisy: true }), times(45, 1));
});

void t.test('long frames never wait', async (t) => {
  const cadence = new SttCadence();
  t.notOk(cadence.mayWait(200, { loud: false, silent: true, noisy: false }, false));
  t.notOk(cadence.mayWait(1000, { loud: true, silent: false, noisy: false }, false));
});

void t.test('three quarters of the sends of a conversation are spared', async (t) => {
  // Twelve seconds: the agent speaks for seven, the caller for three, in words of 300 ms with gaps between them.
  const caller = `${'#'.repeat(15)}..`.repeat(9);
  const sends = pieces(`${'.'.repeat(350)}${caller}${'.'.repeat(97)}`).length;
  t.ok(sends <= 600 / 4, `${sends} sends for 600 frames`);
});
