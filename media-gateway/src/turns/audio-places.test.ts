import t from 'tap';
import { AudioPlaces } from './audio-places.ts';

void t.test('audio runs on until there is a gap', (t) => {
  const places = new AudioPlaces();
  t.equal(places.startOf(40), 40, 'nothing was given yet');
  for (const atMs of [1000, 1020, 1075, 1060]) places.note(20, atMs);
  t.equal(places.startOf(0), 1000);
  t.equal(places.startOf(70), 1070, 'a little out of place, it runs on');
  places.note(20, 5000);
  places.note(20, 5020);
  t.equal(places.endOf(80), 1080, 'what ends at a gap ends before it');
  t.equal(places.startOf(80), 5000, 'what begins at a gap begins behind it');
  t.equal(places.endOf(110), 5030);
  for (let gap = 1; gap <= 300; gap++) places.note(20, 6000 + gap * 1000);
  t.equal(places.startOf(120 + 299 * 20), 306_000);
  t.equal(places.startOf(120 + 50 * 20), 57_000, 'what is long ago is kept within bounds');
  t.end();
});
