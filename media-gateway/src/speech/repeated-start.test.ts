import t from 'tap';
import { RepeatedStart } from './repeated-start.ts';

void t.test('what was said just before is left out of what follows, however it is cut', (t) => {
  const cases: [string | undefined, string, string][] = [
    ['One moment.', 'One moment, I am looking.', 'I am looking.'],
    ['One moment.', 'One moment. Your table is booked.', 'Your table is booked.'],
    ['One moment.', 'One moment.', ''],
    ['One moment.', 'One momentous day it was.', 'One momentous day it was.'],
    ['One moment.', 'One more thing.', 'One more thing.'],
    ['One moment.', 'One', 'One'],
    ['One moment.', '', ''],
    ['Einen Moment, bitte.', 'Einen Moment bitte – ich sehe nach.', 'Ich sehe nach.'],
    ['Un momento, por favor.', 'Un momento, por favor. ¿Para cuántos?', '¿Para cuántos?'],
    ['请稍等。', '请稍等，我看一下。', '我看一下。'],
    [undefined, 'One moment, please.', 'One moment, please.'],
  ];
  for (const [said, text, rest] of cases)
    for (const size of [1, 3, 100]) {
      const start = new RepeatedStart(said);
      let out = '';
      for (let at = 0; at < text.length; at += size) out += start.push(text.slice(at, at + size));
      t.equal(out + start.flush(), rest, `${text} by ${size}`);
    }
  t.end();
});
