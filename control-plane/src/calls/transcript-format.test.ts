import t from 'tap';
import { toText, toWebVtt } from './transcript-format.ts';

const turns = [
  { role: 'agent', text: 'Hello,\nwho is there?', start_ms: 0, end_ms: 1500 },
  { role: 'caller', text: 'Tom & <Jerry> --> us', start_ms: 3_723_004, end_ms: 3_723_004 },
] as const;

void t.test('as text, each turn is one line with its time', async (t) => {
  t.equal(toText(turns), '[00:00:00] agent: Hello, who is there?\n[01:02:03] caller: Tom & <Jerry> --> us\n');
});

void t.test('as WebVTT, markup is escaped and every cue ends after it starts', async (t) => {
  t.equal(
    toWebVtt(turns),
    'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\n<v agent>Hello, who is there?\n\n' +
      '01:02:03.004 --> 01:02:03.005\n<v caller>Tom &amp; &lt;Jerry&gt; --&gt; us\n\n',
  );
});

void t.test('a call without turns is an empty, valid file', async (t) => {
  t.equal(toWebVtt([]), 'WEBVTT\n\n');
});
