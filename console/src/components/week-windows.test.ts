import t from 'tap';
import { clockOf, openOn, problemOfWeek } from './week-windows.ts';
import type { Window } from './week-windows.ts';

void t.test('a day is open when any of its windows is', (t) => {
  const windows: Window[] = [
    { days: ['mon', 'tue'], start: '13:00', end: '18:00' },
    { days: ['mon'], start: '08:30', end: '12:00' },
    { days: ['mon'], start: '17:00', end: '24:00' },
    { days: ['tue'], start: '20:00', end: '19:00' },
  ];
  const open = (day: 'mon' | 'tue' | 'wed') =>
    openOn(day, windows).map(({ from, to }) => `${clockOf(from)}-${clockOf(to)}`);
  t.same(open('mon'), ['08:30-12:00', '13:00-24:00'], 'in order, and what overlaps once');
  t.same(open('tue'), ['13:00-18:00'], 'what ends before it begins is never open');
  t.same(open('wed'), []);
  t.match(problemOfWeek(windows), /ends later/);
  t.match(problemOfWeek([{ days: [], start: '08:00', end: '09:00' }]), /needs a day/);
  t.equal(problemOfWeek(windows.slice(0, 3)), null);
  t.end();
});
