import t from 'tap';
import { AgentUtterance } from './agent-utterance.ts';
import type { Reply, ReplyPart, ReplyTimes } from './reply.ts';

function utterance(
  options: {
    parts?: ReplyPart[];
    times?: ReplyTimes;
    textOnly?: boolean;
    lastVoicedAt?: number | undefined;
    closedAt?: number;
    stops?: boolean;
    interruptible?: boolean;
  } = {},
) {
  const did: string[] = [];
  const one = new AgentUtterance({
    ...{ id: 7, kind: 'answer', textOnly: options.textOnly ?? false },
    interruptible: options.interruptible ?? true,
    reply: {
      parts: options.parts ?? [],
      times: options.times ?? {},
      tokens: { input: 1, output: 2 },
      cancel: () => void did.push('cancel'),
      play: () => Promise.resolve(void did.push('play')),
    } as unknown as Reply,
    answers: { lastVoicedAt: options.lastVoicedAt, closedAt: options.closedAt ?? 0 },
    interrupt: () => (did.push('interrupt'), options.stops ?? true),
  });
  return { one, did };
}

const speech = (text: string): ReplyPart => ({ type: 'speech', text, fromModel: true });
const tools: ReplyPart = { type: 'tools', calls: [], results: new Map() };

void t.test('what a reply took is counted from the end of the turn that it answers', (t) => {
  const times = { llmRequestAt: 120, llmFirstTokenAt: 200.4, ttsFirstTextAt: 210, ttsFirstAudioAt: 300 };
  const { one } = utterance({ times, lastVoicedAt: 50, closedAt: 100 });
  const latency = { stt_final: 50, llm_first_token: 80, tts_first_audio: 90, thought_ahead: null };
  t.same(one.latency, { e2e: null, ...latency }, 'nothing is heard yet');
  one.began(310);
  t.same(one.latency, { e2e: 260, ...latency });
  const none = utterance({ lastVoicedAt: -Infinity, closedAt: 100 }).one;
  t.same(none.latency, {
    ...{ e2e: null, stt_final: null, llm_first_token: null, tts_first_audio: null, thought_ahead: null },
  });
  const early = utterance({ lastVoicedAt: 150, closedAt: 100 }).one;
  t.equal(early.latency.stt_final, 0, 'no time is less than none');
  t.end();
});

void t.test('thinking ahead counts no longer than it took until something could be heard', (t) => {
  const ahead = (times: ReplyTimes, closedAt = 100) =>
    utterance({ times, closedAt }).one.latency.thought_ahead;
  t.equal(ahead({ llmRequestAt: 40 }), 60);
  t.equal(ahead({ llmRequestAt: 40, ttsFirstAudioAt: 70.6 }), 31);
  t.equal(ahead({ llmRequestAt: 99 }), 1);
  t.equal(ahead({ llmRequestAt: 100 }), null);
  t.equal(ahead({}), null);
  t.end();
});

void t.test('words and tools are what an utterance has by now', (t) => {
  const parts: ReplyPart[] = [tools];
  const { one } = utterance({ parts });
  t.notOk(one.hasWords);
  t.equal(one.writtenLength, 1);
  parts.push(speech('Hello.'));
  t.ok(one.hasWords);
  t.equal(one.writtenLength, 7);
  t.same(one.tokens, { input: 1, output: 2 });
  t.end();
});

void t.test('only what may be interrupted is', (t) => {
  const { one, did } = utterance();
  t.ok(one.interrupt());
  one.interruptible = false;
  t.notOk(one.interrupt());
  t.same(did, ['interrupt']);
  t.notOk(utterance({ stops: false }).one.interrupt());
  one.cancelReply();
  t.same(did, ['interrupt', 'cancel']);
  t.end();
});

void t.test('what is only read counts as read, whatever was heard', async (t) => {
  const heard = { text: 'Hello', complete: true, heardMs: 5, startedAt: 1, endedAt: 2 };
  const spoken = utterance().one;
  t.equal(spoken.end('completed', heard, 9), heard);
  t.same(await spoken.done, { status: 'completed', heard: 'Hello' });
  const silent = utterance().one;
  t.equal(silent.end('failed', undefined, 9), undefined);
  t.same(await silent.done, { status: 'failed', heard: '' });
  const read = utterance({ textOnly: true, parts: [speech('One.'), tools, speech('Two.')] }).one;
  const all = { text: 'One. Two.', complete: false, heardMs: 0, startedAt: 9, endedAt: 9 };
  t.same(read.end('interrupted', undefined, 9), all);
  t.same(await read.done, { status: 'interrupted', heard: 'One. Two.' });
  t.match(utterance({ textOnly: true }).one.end('completed', heard, 9), { text: '', complete: true });
});
