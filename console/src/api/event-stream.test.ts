import t from 'tap';
import { EventStreamReader } from './event-stream.ts';

const STREAM =
  ': hello\n\nid: 7\nevent: turn\ndata: {"a":\ndata: 1}\n\r\nretry: 10\r\ndata:no space\r\n\r\nid\ndata: 2\n\nevent: nothing\n\ndata: unfinished\n';

const EVENTS = [
  { type: 'turn', data: '{"a":\n1}', id: '7' },
  { type: 'message', data: 'no space', id: '7' },
  { type: 'message', data: '2', id: '' },
];

void t.test('events are read whole, wherever the stream is cut', async (t) => {
  for (let at = 0; at <= STREAM.length; at++) {
    const reader = new EventStreamReader();
    t.same([...reader.read(STREAM.slice(0, at)), ...reader.read(STREAM.slice(at))], EVENTS, `cut at ${at}`);
  }
});

void t.test('a stream that goes on keeps the id that it went on from', async (t) => {
  t.same(new EventStreamReader('12').read('data: x\n\n'), [{ type: 'message', data: 'x', id: '12' }]);
});
