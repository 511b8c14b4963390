import t from 'tap';
import { SseLines } from './sse-lines.ts';

const STREAM =
  ': ping\r\n\r\ndata: {"a":"é€"}\r\n\r\nevent: error\ndata:{"b":1}\n\nretry: 5\ndata: [DONE]\n\n';
const VALUES = ['{"a":"é€"}', '{"b":1}', '[DONE]'];

void t.test('values of data lines, however the stream is cut', (t) => {
  const bytes = Buffer.from(STREAM);
  for (let size = 1; size <= bytes.length; size += 1) {
    const lines = new SseLines();
    const values: string[] = [];
    for (let at = 0; at < bytes.length; at += size) values.push(...lines.push(bytes.subarray(at, at + size)));
    t.same([...values, ...lines.end()], VALUES, `in pieces of ${size}`);
  }
  t.end();
});

void t.test('a last line without line end', (t) => {
  const lines = new SseLines();
  t.same(lines.push(Buffer.from('data: 1\ndata: 2')), ['1']);
  t.same(lines.end(), ['2']);
  t.end();
});
