import { tool } from '@openai/agents-realtime';
import t from 'tap';
import { z } from 'zod';
import { connectAgents } from '../../media-gateway/test/fixtures/agents-client.ts';
import type { Wire } from '../../media-gateway/test/fixtures/agents-client.ts';
import { Microphone, openRealtimePlatform } from './fixtures/realtime-platform.ts';

const LINES = { table: 'A table for two people, please.', friday: 'Next Friday at seven.' };

void t.test('the agents SDK holds a spoken conversation, interrupts, and runs a tool', async (t) => {
  const { platform, mint, speak, url, rest } = await openRealtimePlatform(t, {
    agent: { greeting: 'Good evening.' },
  });
  await platform.emulators.deepgram!.teach(Object.values(LINES));
  const { token, sessionId } = await mint();
  const calls: unknown[] = [];
  const bookTable = tool({
    name: 'book_table',
    description: 'Books a table.',
    parameters: z.object({ day: z.string(), time: z.string(), people: z.number() }),
    execute: async (args) => {
      calls.push(args);
      return { ...args, reference: 'B-7' };
    },
  });
  const client = await connectAgents(t, { url, token }, { agent: { tools: [bookTable] } });
  const { session } = client;

  const created = await client.next('session.created', { from: 0 });
  t.match(created['session'], { id: `sess_${sessionId}`, object: 'realtime.session', type: 'realtime' });
  const updated = await client.next('session.updated', { from: 0 });
  t.match(updated['session'], {
    instructions: '',
    tools: [{ type: 'function', name: 'book_table' }],
    audio: {
      input: {
        format: { type: 'audio/pcm', rate: 24000 },
        turn_detection: { type: 'semantic_vad', create_response: true, interrupt_response: true },
      },
      output: { format: { type: 'audio/pcm', rate: 24000 } },
    },
  });

  const microphone = new Microphone((frame) => session.sendAudio(frame.buffer as ArrayBuffer));
  t.teardown(() => microphone.close());
  const greeting = await client.next('response.done', { from: 0 });
  t.match(statusOf(greeting), { status: 'completed' });
  t.equal(saidIn(greeting), 'Good evening.');
  t.ok(client.audioMs() > 300, 'the greeting was sent as audio');

  // What was sent is still being played for a while.
  await microphone.listen(1200);
  await microphone.say(await speak(LINES.table));
  await client.next('response.created');
  const question = await client.next('response.output_audio.delta');
  t.equal(question['output_index'], 0);
  // By the clock, for some words of the answer to be heard: audio may come faster than it is played.
  await microphone.listen(900);

  const before = client.received.length;
  const interruption = microphone.say(await speak(LINES.friday));
  await client.next('input_audio_buffer.speech_started', { from: before });
  const cut = await client.next('response.done', { from: before });
  t.match(statusOf(cut), {
    status: 'cancelled',
    status_details: { type: 'cancelled', reason: 'turn_detected' },
  });
  const speechAt = client.received.findIndex(
    (event, at) => at >= before && event.type.endsWith('speech_started'),
  );
  t.notOk(
    client.received
      .slice(speechAt)
      .some((event) => event.type === 'response.output_audio.delta' && event['response_id'] === idOf(cut)),
    'no audio of the reply after the voice was told',
  );
  const truncated = await client.next('conversation.item.truncated', { from: before });
  await interruption;

  // The answer: a function call for the client, then what the model makes of its result.
  const called = await client.next('response.output_item.done', {
    from: before,
    matches: (event) => (event['item'] as Wire).type === 'function_call',
  });
  t.match(called['item'], { status: 'completed', name: 'book_table', call_id: String });
  const answering = await client.next('response.output_audio.delta', {
    from: before,
    matches: (event) => saidUntilNow(client.received, event['response_id']).includes('B-7'),
  });
  const answer = saidUntilNow(client.received, answering['response_id']);
  t.match(answer, /^Your table is booked for Friday at seven, and your reference is B-7\./i);
  t.match(calls, [{ day: /friday/i, time: 'seven', people: 2 }]);
  // The application stops the agent by itself, after a while.
  await microphone.listen(900);
  session.interrupt();
  const stopped = await client.next('response.done', {
    matches: (event) => idOf(event) === answering['response_id'],
  });
  t.match(statusOf(stopped), {
    status: 'cancelled',
    status_details: { type: 'cancelled', reason: 'client_cancelled' },
    usage: { input_tokens: Number, output_tokens: Number },
  });
  await client.next('conversation.item.retrieved');

  const history = session.history.flatMap((item) =>
    item.type === 'message'
      ? [
          {
            id: item.itemId,
            role: item.role,
            status: 'status' in item ? item.status : undefined,
            text: item.content
              .map((part) => ('transcript' in part ? part.transcript : 'text' in part ? part.text : ''))
              .join(''),
          },
        ]
      : [],
  );
  t.match(
    history.map(({ role, text }) => [role, text]),
    [
      ['assistant', 'Good evening.'],
      ['user', 'A table for two people, please.'],
      ['assistant', /^With pleasure/],
      ['user', 'Next Friday at seven.'],
      ['assistant', 'One moment, I am looking.'],
      ['assistant', /^Your table/],
    ],
  );
  const cutItem = history[2]!;
  t.equal(cutItem.id, truncated['item_id']);
  t.equal(cutItem.status, 'incomplete');
  t.notMatch(cutItem.text, /to come\?$/, 'only what was heard is left');
  const sentTypes = client.sent.map((event) => event.type);
  t.same(
    sentTypes.filter((type) => type === 'conversation.item.truncate' || type === 'response.cancel'),
    ['conversation.item.truncate', 'response.cancel', 'conversation.item.truncate'],
    'the client leaves cancelling to the server when the caller interrupts',
  );
  t.same(client.errors, []);
  t.same(client.ignored(), [], 'every event has the shape that the SDK expects');

  session.close();
  type Turns = { items: { role: string; text: string; interrupted: boolean }[] };
  let turns: Turns['items'] = [];
  while (turns.length < 6) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    turns = (await rest.get<Turns>(`/v1/sessions/${sessionId}/transcript`)).items;
  }
  t.equal(turns[2]!.interrupted, true);
  t.equal(turns[2]!.text, cutItem.text, 'what the client is told is what is on record');
});

function idOf(done: Wire): string {
  return (done['response'] as { id: string }).id;
}

/** The words of a response so far. */
function saidUntilNow(received: readonly Wire[], responseId: unknown): string {
  return received
    .filter(
      (event) =>
        event.type === 'response.output_audio_transcript.delta' && event['response_id'] === responseId,
    )
    .map((event) => event['delta'] as string)
    .join('');
}

function statusOf(done: Wire): unknown {
  return done['response'];
}

/** The words of the first message of a response. */
function saidIn(done: Wire): string {
  const { output } = done['response'] as { output: { content?: { transcript?: string; text?: string }[] }[] };
  const part = output.find((item) => item.content)?.content?.[0];
  return part?.transcript ?? part?.text ?? '';
}
