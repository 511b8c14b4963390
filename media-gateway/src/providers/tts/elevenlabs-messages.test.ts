import t from 'tap';
import { parseMessage } from './elevenlabs-messages.ts';

const AUDIO = Buffer.from('the sound of a voice??>').toString('base64');
const ALIGNMENT = { chars: ['a', '"', 'ü'], charStartTimesMs: [0, 1, 2], charDurationsMs: [1, 1, 1] };
const READ = { chars: ['a', '"', 'ü'], startsMs: [0, 1, 2], durationsMs: [1, 1, 1] };

const parse = (text: string) => parseMessage(Buffer.from(text));

void t.test('a message is read whatever stands before and behind its audio', (t) => {
  const message = { contextId: 'r1', audio: AUDIO, isFinal: null, alignment: ALIGNMENT };
  const read = { contextId: 'r1', audio: AUDIO, isFinal: null, alignment: READ };
  t.same(parse(JSON.stringify(message)), read);
  t.same(parse(JSON.stringify({ alignment: ALIGNMENT, isFinal: null, audio: AUDIO, contextId: 'r1' })), read);
  t.same(parse(JSON.stringify(message, null, 4)), read, 'in lines');
  t.end();
});

void t.test('times of words are read in both spellings, and one that is not valid is left out', (t) => {
  const { chars, charStartTimesMs } = ALIGNMENT;
  const alignmentOf = (alignment: unknown) =>
    parse(JSON.stringify({ contextId: 'r1', audio: AUDIO, alignment }))!.alignment;
  t.same(alignmentOf({ chars, charStartTimesMs, charsDurationsMs: [1, 1, 1] }), READ);
  t.same(alignmentOf({ chars, charStartTimesMs }), { ...READ, durationsMs: [] });
  for (const invalid of [
    null,
    7,
    'times',
    {},
    { chars },
    { chars: 'a', charStartTimesMs },
    { chars: ['a', 7, 'b'], charStartTimesMs },
    { chars, charStartTimesMs: [0, '1', 2] },
    { ...ALIGNMENT, charDurationsMs: [1, null, 1] },
  ])
    t.equal(alignmentOf(invalid), undefined, JSON.stringify(invalid));
  t.end();
});

void t.test('audio in another form is what JSON says it is', (t) => {
  t.same(parse('{"audio":"a\\/b=","contextId":"r"}'), { audio: 'a/b=', contextId: 'r' }, 'escaped');
  t.same(parse('{"audio" : "abcd"}'), { audio: 'abcd' });
  t.same(parse('{"audio":""}'), { audio: '' });
  t.same(parse('{"audio":null,"isFinal":true}'), { audio: null, isFinal: true });
  t.same(parse('{"isFinal":true}'), { isFinal: true });
  t.same(parse('{"more":{"audio":"no"},"contextId":"r"}'), { contextId: 'r' }, 'of something else');
  t.same(parse('{"more":{"audio":"no"},"audio":"yes"}'), { audio: 'yes' });
  t.same(parse('{"contextId":"\\"audio\\":\\"x\\"","audio":"yes"}'), {
    contextId: '"audio":"x"',
    audio: 'yes',
  });
  t.end();
});

void t.test('what is not valid is no message', (t) => {
  for (const text of [
    '',
    '{"audio":"abc',
    '{"audio":"abc"',
    '{"audio":"abc"}}',
    '{"audio":7}',
    '[]',
    '{"audio":"a","contextId":7}',
  ])
    t.equal(parse(text), undefined, text);
  t.end();
});
