import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { Microphone } from './microphone.ts';

const SILENCE = Buffer.alloc(960);

function listen() {
  const clock = new ManualClock();
  const frames: Buffer[] = [];
  let said = 0;
  const microphone = new Microphone({
    clock,
    send: (base64) => frames.push(Buffer.from(base64, 'base64')),
    onSaid: () => said++,
  });
  return { clock, frames, microphone, said: () => said };
}

void t.test('a frame goes out each 20 ms, of silence while nothing is said', async (t) => {
  const { clock, frames, microphone, said } = listen();
  clock.advance(100);
  t.same(
    frames,
    Array.from({ length: 6 }, () => SILENCE),
  );
  microphone.say(Buffer.alloc(2000, 7));
  t.notOk(microphone.isSilent);
  clock.advance(40);
  t.equal(said(), 0, 'not all of it has gone');
  clock.advance(20);
  t.equal(said(), 1);
  t.ok(microphone.isSilent);
  t.same(frames.slice(6), [
    Buffer.alloc(960, 7),
    Buffer.alloc(960, 7),
    Buffer.concat([Buffer.alloc(80, 7), Buffer.alloc(880)]),
  ]);
  microphone.stop();
  clock.advance(1000);
  t.equal(frames.length, 9, 'nothing is sent once it is off');
  t.equal(clock.pendingTimers, 0);
});
