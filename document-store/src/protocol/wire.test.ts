import { deserialize, serialize } from 'bson';
import t from 'tap';
import { MessageReader, WireError, encodeReply, parseMessage } from './wire.ts';

function message(opCode: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(16);
  head.writeInt32LE(16 + body.length, 0);
  head.writeInt32LE(7, 4);
  head.writeInt32LE(opCode, 12);
  return Buffer.concat([head, body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function body(document: object): Buffer {
  return Buffer.concat([Buffer.of(0), serialize(document)]);
}

function sequence(name: string, ...documents: object[]): Buffer {
  const content = Buffer.concat([
    Buffer.from(`${name}\0`),
    ...documents.map((document) => serialize(document)),
  ]);
  return Buffer.concat([Buffer.of(1), int32(content.length + 4), content]);
}

void t.test('an OP_MSG with a document sequence, a checksum and no wish for an answer', (t) => {
  const bytes = message(
    2013,
    int32(1 | 2),
    body({ insert: 'a', $db: 'test' }),
    sequence('documents', { x: 1 }, { x: 2 }),
    int32(99),
  );
  t.match(parseMessage(bytes), {
    requestId: 7,
    form: 'message',
    database: 'test',
    silent: true,
    command: { insert: 'a', documents: [{ x: 1 }, { x: 2 }] },
  });
  t.end();
});

void t.test('the OP_QUERY of a greeting is answered by an OP_REPLY', (t) => {
  const bytes = message(
    2004,
    int32(4),
    Buffer.from('admin.$cmd\0'),
    int32(0),
    int32(-1),
    Buffer.from(serialize({ ismaster: 1 })),
  );
  const request = parseMessage(bytes);
  t.match(request, { form: 'query', database: 'admin', command: { ismaster: 1 } });
  const reply = Buffer.concat(encodeReply(request, { ok: 1 }));
  t.equal(reply.readInt32LE(0), reply.length);
  t.equal(reply.readInt32LE(8), 7, 'in response to');
  t.equal(reply.readInt32LE(12), 1);
  t.same(deserialize(reply.subarray(36)), { ok: 1 });
  t.end();
});

void t.test('messages are cut from any pieces they come in', (t) => {
  const messages = [1, 2, 3].map((n) =>
    message(2013, int32(0), body({ ping: n, $db: 'a', pad: 'x'.repeat(n * 100) })),
  );
  const stream = Buffer.concat(messages);
  for (const size of [1, 7, 16, 100, 333, stream.length]) {
    const reader = new MessageReader();
    const found: Buffer[] = [];
    for (let at = 0; at < stream.length; at += size)
      found.push(...reader.push(stream.subarray(at, at + size)));
    t.same(
      found.map((bytes) => parseMessage(bytes).command.ping),
      [1, 2, 3],
      `pieces of ${size}`,
    );
  }
  t.end();
});

void t.test('what is no message is refused', (t) => {
  const cases: [title: string, bytes: Buffer][] = [
    ['no body', message(2013, int32(0))],
    ['two bodies', message(2013, int32(0), body({ ping: 1, $db: 'a' }), body({ ping: 1, $db: 'a' }))],
    ['an unknown required flag', message(2013, int32(4), body({ ping: 1, $db: 'a' }))],
    ['an unknown kind of section', message(2013, int32(0), Buffer.of(2), int32(5), Buffer.of(0))],
    ['a section longer than the message', message(2013, int32(0), Buffer.of(0), int32(5000), Buffer.of(0))],
    [
      'a sequence without a name',
      message(2013, int32(0), body({ ping: 1, $db: 'a' }), Buffer.of(1), int32(8), Buffer.from('abcd')),
    ],
    [
      'a query of a collection',
      message(2004, int32(0), Buffer.from('a.b\0'), int32(0), int32(-1), Buffer.from(serialize({}))),
    ],
  ];
  for (const [title, bytes] of cases) t.throws(() => parseMessage(bytes), WireError, title);
  t.throws(() => parseMessage(message(2013, int32(0), body({ ping: 1 }))), { code: 40571 }, 'no database');
  for (const [title, bytes] of [
    ['compression', message(2012, int32(0))],
    ['a length of nothing', Buffer.alloc(16)],
    ['a length beyond all bounds', Buffer.concat([int32(0x7fffffff), Buffer.alloc(12)])],
  ] as const) {
    t.throws(() => [...new MessageReader().push(bytes)], WireError, title);
  }
  t.end();
});
