import t from 'tap';
import { glanceOf } from './glance.ts';

void t.test('one glance says well or not well', (t) => {
  const well = glanceOf({ faults: 0, today: 1, usual: 2.6 });
  t.equal(well.isWell, true);
  t.match(well.text, /1 call ended today; the last seven days had 3 a day/);
  t.match(glanceOf({ faults: 0, today: 0, usual: 0 }).text, /hardly any/);
  const ill = glanceOf({ faults: 2, today: 5, usual: 4 });
  t.equal(ill.isWell, false);
  t.match(ill.text, /^2 calls of the last 24 hours failed/);
  t.end();
});
