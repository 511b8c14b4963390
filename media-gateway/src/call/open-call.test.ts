import t from 'tap';
import { ProviderError } from '@parley/shared/errors/provider-error';
import type { LlmRequest } from '../providers/llm/llm-provider.ts';
import { fakeCall, wirePlan, WORD_MS, salesDestination, webhookTool } from './fakes.ts';

const text = (words: string) => ({ events: [{ type: 'text' as const, text: words }] });
const lastUser = (request: LlmRequest) =>
  request.messages.findLast((message) => message.role === 'user')?.content;
const agentWords = (request: LlmRequest) =>
  request.messages.filter((message) => message.role === 'assistant').map((message) => message.content);

void t.test('a call from greeting to hang-up', async (t) => {
  const call = fakeCall({ llm: () => text('It is open until six. Anything else?') });
  await call.wait(1600);
  t.same(call.texts(), ['agent: Hello there friend.'], 'the greeting was heard');
  await call.hears('When do you close?');
  await call.wait(200 + 7 * WORD_MS + 600);
  t.same(call.texts().slice(1), [
    'caller: When do you close?',
    'agent: It is open until six. Anything else?',
  ]);
  t.same(call.requests.length, 1, 'one request to the LLM for one turn');
  t.same(agentWords(call.requests[0]!), ['Hello there friend.']);
  const latency = call.turns()[2]!.latency!;
  t.ok(latency['e2e']! >= 300 + 100 + 50, 'the latency counts from the last voice');
  t.ok(latency['llm_first_token']! >= 100 && latency['tts_first_audio']! >= 50);
  call.phone.listener.onGone({ by: 'caller', lost: false });
  const report = await call.call.ended;
  t.match(report, {
    ended_by: 'caller',
    hangup_reason: 'caller_hangup',
    turns: [{ turn_index: 0 }, { turn_index: 1 }, { turn_index: 2 }],
  });
  t.notOk(
    call.events.some((event) => event.type === 'carrier_command'),
    'nobody hangs up a caller who is gone',
  );
  t.equal(call.open.stt, 0);
  t.equal(call.ticker.size, 0, 'nothing of the call ticks any more');
  t.ok(call.phone.maxBufferedMs <= 500, `never more than 500 ms ahead: ${call.phone.maxBufferedMs}`);
});

void t.test(
  'frames wait for each other in silence and within speech, and none where it may end',
  async (t) => {
    const call = fakeCall();
    await call.wait(2000);
    const silence = call.sttFrames.splice(0);
    t.equal(silence.filter(({ mayWait }) => !mayWait).length, silence.length / 10);
    await call.hears('When do you close?');
    const spoken = call.sttFrames.splice(0);
    const sound = spoken.slice(0, 30);
    t.same(
      sound.slice(0, 6).map(({ mayWait }) => mayWait),
      [false, true, false, true, false, true],
      'a word begins',
    );
    t.equal(
      sound.slice(10).filter(({ mayWait }) => mayWait).length,
      16,
      'within it, four of five frames wait',
    );
    t.same(
      spoken.slice(30, 34).map(({ mayWait }) => mayWait),
      [false, true, true, false],
      'a gap begins',
    );
    t.notOk(
      spoken.slice(34).some(({ mayWait }) => mayWait),
      'and none waits in the silence that ends the turn',
    );
    t.same(
      [...silence, ...spoken].reduce((sum, { ms }) => sum + ms, 0),
      2900,
      'all of it is given',
    );
    call.phone.listener.onGone({ by: 'caller', lost: false });
    await call.call.ended;
  },
);

void t.test('what thinking ahead saved is told with the turn and with the call', async (t) => {
  const ahead = wirePlan((_plan, config) => (config.turn_taking.preemptive_generation = true));
  const call = fakeCall({ plan: ahead, llm: () => text('Until six.') });
  const words = { text: 'When do you close?', confidence: 0.9, endMs: undefined, language: undefined };
  await call.wait(1600);
  await call.wait(600, true);
  call.stt.onInterim(words);
  await call.wait(40, true);
  await call.wait(140);
  t.equal(call.requests.length, 1, 'asked while the STT still listens');
  call.stt.onTurnEnd(words);
  await call.wait(2000);
  const saved = call.turns()[2]!.latency!['thought_ahead']!;
  t.ok(
    saved > 0 && saved <= 80,
    `${saved} ms of 60 to 80 ms between the silence that sufficed and the turn's end`,
  );
  t.equal(call.turns()[0]!.latency!['thought_ahead'], null, 'a greeting answers nobody');
  await call.hears('And on Sunday?');
  await call.wait(3000);
  call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
  const { metrics } = await call.call.ended;
  t.match(metrics.thought_ahead_ms, { count: 1, max: saved }, 'of two turns one was thought of ahead');
});

void t.test('barge-in', async (t) => {
  await t.test('where the agent is to become softer only, it is never silent for a cough', async (t) => {
    const plan = wirePlan((_plan, config) => (config.interruption.while_deciding = 'duck'));
    const call = fakeCall({ plan, llm: () => text('one two three four five six seven eight nine ten') });
    await call.wait(1600);
    await call.hears('Tell me everything');
    await call.wait(160 + 2 * WORD_MS);
    await call.wait(80, true);
    for (let ms = 0; ms < 700; ms += 20) {
      await call.wait(20);
      t.ok(call.phone.bufferedMs > 0, `${ms} ms after the cough`);
    }
    t.match(
      call.events.flatMap(({ type, data }) => (type === 'turn_decision' ? [data['action']] : [])),
      ['answer', 'stop', 'resume'],
    );
  });

  await t.test(
    'rule 15: what was not heard is not in the transcript, nor in what the LLM is told',
    async (t) => {
      const call = fakeCall({
        llm: (request) =>
          text(
            lastUser(request) === 'Tell me everything'
              ? 'one two three four five six seven eight nine ten'
              : 'Of course.',
          ),
      });
      await call.wait(1600);
      await call.hears('Tell me everything');
      await call.wait(160 + 3 * WORD_MS);
      const before = call.phone.clears.length;
      await call.wait(80, true);
      t.equal(
        call.phone.clears.length,
        before + 1,
        'cleared at the carrier with the fourth voiced frame at the latest',
      );
      await call.hears('Hold on a moment');
      await call.wait(1500);
      const cut = call.turns().find((turn) => turn.interrupted)!;
      t.equal(cut.text, 'one two three', 'the words that were played, and no more');
      t.match(agentWords(call.requests.at(-1)!), ['Hello there friend.', 'one two three']);
      t.equal(call.texts().at(-1), 'agent: Of course.');
      t.equal(call.requests.length, 2);
    },
  );

  await t.test('rule 16: without word times of the voice the cut is in proportion', async (t) => {
    const call = fakeCall({ words: false, llm: () => text('aaa bbb ccc ddd eee fff ggg hhh iii jjj') });
    await call.wait(1600);
    await call.hears('Tell me everything');
    await call.wait(160 + 4 * WORD_MS);
    await call.hears('Stop it');
    t.equal(call.turns().find((turn) => turn.interrupted)!.text, 'aaa bbb ccc ddd');
  });

  await t.test(
    '"uh-huh" is heard out: speech goes on from the sample that was not heard, and the whole turn is kept',
    async (t) => {
      const call = fakeCall({ llm: () => text('one two three four five six seven eight') });
      await call.wait(1600);
      await call.hears('Go on then please');
      const playedBefore = call.phone.playedMs;
      await call.wait(160 + 2 * WORD_MS);
      await call.hears('Uh-huh.', 400);
      await call.wait(8 * WORD_MS + 500);
      const turns = call.turns().slice(2);
      t.same(
        turns.map((turn) => [turn.role, turn.text, turn.interrupted]),
        [
          ['caller', 'Uh-huh.', false],
          ['agent', 'one two three four five six seven eight', false],
        ],
      );
      t.ok(turns[1]!.turn_index < turns[0]!.turn_index, 'the agent had begun first');
      const played = call.phone.playedMs - playedBefore;
      t.ok(
        Math.abs(played - 8 * WORD_MS) <= 20,
        `every sample was played once: ${played} ms of ${8 * WORD_MS}`,
      );
      t.equal(call.requests.length, 1, 'no second reply');
      const recorded = call.recorded.agent.reduce((sum, part) => sum + part.ms, 0);
      t.ok(Math.abs(recorded - (8 + 3) * WORD_MS) <= 20, 'the recording holds it once');
    },
  );

  await t.test('marks that the carrier gives back for cleared audio count for nothing', async (t) => {
    const call = fakeCall({ llm: () => text('one two three four five six') });
    await call.wait(1600);
    await call.hears('Tell me everything');
    await call.wait(160 + WORD_MS);
    await call.hears('Wait');
    t.equal(call.turns().find((turn) => turn.interrupted)!.text, 'one');
  });
});

void t.test('tools', async (t) => {
  const withTool = (say_before = '') =>
    wirePlan((plan) => {
      plan.tools = [webhookTool({ name: 'book', description: 'Books', execution: { say_before } })];
    });
  const calls = {
    events: [
      { type: 'tool_call' as const, call: { id: 'call_1', name: 'book', arguments: '{"day":"monday"}' } },
    ],
  };

  await t.test('are run once, and their result is told to the LLM', async (t) => {
    let runs = 0;
    const call = fakeCall({
      plan: withTool(),
      llm: (request) => (request.messages.at(-1)!.role === 'tool' ? text('Booked.') : calls),
      tool: async (args) => {
        runs++;
        t.same(args, { day: 'monday' });
        return { ok: true, content: '{"ok":true}', assigned: { ref: '42' }, durationMs: 5 };
      },
    });
    await call.wait(1600);
    await call.hears('Book a table');
    await call.wait(1500);
    t.equal(runs, 1);
    t.equal(call.texts().at(-1), 'agent: Booked.');
    t.match(call.events.find((event) => event.type === 'tool_finished')?.data, {
      name: 'book',
      ok: true,
      tool_id: 'tol_1',
    });
  });

  await t.test(
    'rule 4: that run when the caller speaks are finished, and the next answer knows their result',
    async (t) => {
      let finish!: () => void;
      let runs = 0;
      const call = fakeCall({
        plan: withTool('One second.'),
        llm: (request) =>
          lastUser(request) === 'Book a table' && request.messages.at(-1)!.role !== 'tool'
            ? calls
            : text('Done.'),
        tool: () => {
          runs++;
          return new Promise(
            (resolve) =>
              (finish = () => resolve({ ok: true, content: '{"booked":1}', assigned: {}, durationMs: 5 })),
          );
        },
      });
      await call.wait(1600);
      await call.hears('Book a table');
      await call.wait(700);
      await call.hears('And make it two people');
      await call.wait(300);
      t.equal(call.requests.length, 1, 'the answer waits for the tool');
      finish();
      await call.wait(800);
      t.equal(runs, 1);
      t.match(
        call.requests[1]!.messages.find((message) => message.role === 'tool'),
        { content: '{"booked":1}' },
      );
      t.equal(call.texts().at(-1), 'agent: Done.');
    },
  );

  await t.test('with arguments that are no JSON are refused, not run', async (t) => {
    const call = fakeCall({
      plan: withTool(),
      llm: (request) =>
        request.messages.at(-1)!.role === 'tool'
          ? text('Sorry.')
          : { events: [{ type: 'tool_call', call: { id: 'c', name: 'book', arguments: '{"day":' } }] },
      tool: () => Promise.reject(new Error('must not run')),
    });
    await call.wait(1600);
    await call.hears('Book a table');
    await call.wait(900);
    t.match(call.events.find((event) => event.type === 'tool_finished')?.data, {
      ok: false,
      code: 'invalid_arguments',
    });
  });

  await t.test('rule 23: end_call hangs up when the goodbye was heard, and only once', async (t) => {
    const call = fakeCall({
      llm: () => ({
        events: [
          { type: 'text', text: 'Goodbye and thank you.' },
          ...[1, 2].map((n) => ({
            type: 'tool_call' as const,
            call: { id: `c${n}`, name: 'end_call', arguments: '{}' },
          })),
        ],
      }),
    });
    await call.wait(1600);
    await call.hears('That was all');
    await call.wait(300);
    t.equal(call.phone.closed, undefined, 'not while it is being said');
    await call.wait(200, true);
    await call.wait(4 * WORD_MS + 400);
    const report = await call.call.ended;
    t.match(report, { ended_by: 'agent', hangup_reason: 'agent_hangup' });
    t.equal(report.turns.at(-1)!.text, 'Goodbye and thank you.', 'a barge-in does not cut off the goodbye');
    t.equal(call.events.filter((event) => event.type === 'carrier_command').length, 1);
    t.equal(call.phone.closed!.code, 1000);
  });
});

void t.test('a filler never comes behind the answer that it waits for', async (t) => {
  const call = fakeCall({
    plan: wirePlan((_, config) => {
      config.filler = { ...config.filler, enabled: true, after_ms: 500, messages: ['One moment.'] };
    }),
    llm: () => ({ events: [{ type: 'text', text: 'It is open until six.' }], afterMs: 480 }),
  });
  await call.wait(1600);
  await call.hears('When do you close?');
  // The voice needs another 50 ms.
  await call.wait(2500);
  t.same(call.spoken.slice(1), ['It is open until six.']);
});

void t.test('silence is broken by reminders, then ends the call', async (t) => {
  const plan = wirePlan((_, config) => {
    config.silence.reminder_messages = ['Are you still there?'];
    config.silence.max_reminders = 1;
    config.silence.reminder_after_seconds = 2;
    config.silence.end_call_after_seconds = 6;
    config.silence.end_message = 'Goodbye.';
  });
  const call = fakeCall({ plan });
  await call.wait(1600 + 2000 + 2200);
  t.same(call.texts(), ['agent: Hello there friend.', 'agent: Are you still there?']);
  await call.wait(6000);
  t.match(await call.call.ended, { ended_by: 'system', hangup_reason: 'silence' });
  t.equal(call.texts().at(-1), 'agent: Goodbye.');
});

void t.test('failures', async (t) => {
  await t.test('an LLM that fails once is asked again and nobody notices', async (t) => {
    let tries = 0;
    const call = fakeCall({
      llm: () => (tries++ === 0 ? new ProviderError('fake-llm', 'timeout', 'no token') : text('Here I am.')),
    });
    await call.wait(1600);
    await call.hears('Hello?');
    await call.wait(1800);
    t.equal(call.texts().at(-1), 'agent: Here I am.');
    t.match(call.events.find((event) => event.type === 'warning')?.data, {
      code: 'llm_trouble',
      fault: 'timeout',
    });
  });

  await t.test('an LLM that fails for good apologises, then ends the call with llm_error', async (t) => {
    const call = fakeCall({ llm: () => new ProviderError('fake-llm', 'unavailable', 'down') });
    await call.wait(1600);
    await call.hears('When do you close?');
    await call.wait(8000);
    t.match(call.texts().at(-1), /^agent: I am sorry, I had a technical problem/);
    await call.hears('When do you close?');
    await call.wait(8000);
    t.match(await call.call.ended, { ended_by: 'system', failure_reason: 'llm_error' });
  });

  await t.test('a refused credential ends it at once', async (t) => {
    const call = fakeCall({ llm: () => new ProviderError('fake-llm', 'auth', 'no') });
    await call.wait(1600);
    await call.hears('When do you close?');
    await call.wait(8000);
    t.match(await call.call.ended, { failure_reason: 'llm_error' });
    t.equal(call.requests.length, 1);
  });

  await t.test('a voice that fails mid-way is opened again, and nothing is said twice', async (t) => {
    let pushes = 0;
    const call = fakeCall({
      llm: () => text('First sentence here. Second sentence here. Third one.'),
      ttsFails: () => (++pushes === 3 ? new ProviderError('fake-tts', 'unavailable', 'cut') : undefined),
    });
    await call.wait(1600);
    await call.hears('Tell me');
    await call.wait(8 * WORD_MS + 1200);
    t.equal(call.texts().at(-1), 'agent: First sentence here. Second sentence here. Third one.');
    t.same(call.spoken.slice(1).join(' '), 'First sentence here. Second sentence here. Third one.');
  });

  await t.test('without any voice the call ends with tts_error', async (t) => {
    const call = fakeCall({ ttsFails: () => new ProviderError('fake-tts', 'auth', 'no') });
    await call.wait(500);
    t.match(await call.call.ended, { failure_reason: 'tts_error' });
  });

  await t.test(
    'rule 31: when all voices fail the local one says so, and the call ends with tts_error',
    async (t) => {
      const dead = () => new ProviderError('fake-tts', 'auth', 'no');
      const german = wirePlan((_plan, config) => (config.language.primary = 'de-DE'));
      const call = fakeCall({ plan: german, ttsFails: dead, localVoice: {} });
      await call.wait(7000);
      const words = 'I am sorry, something is not working at the moment. Please call again later.';
      t.same(call.spoken, [`(local) ${words}`], 'in English: it has no other language');
      t.same(call.texts(), [`agent: ${words}`]);
      t.match(call.events.findLast(({ type }) => type === 'warning')?.data, { code: 'local_voice' });
      t.match(await call.call.ended, { ended_by: 'system', failure_reason: 'tts_error' });

      const mute = fakeCall({ ttsFails: dead, localVoice: { fails: dead } });
      await mute.wait(400);
      t.match(await mute.call.ended, { failure_reason: 'tts_error' }, 'and without it at once');
    },
  );

  await t.test('without any STT the caller is told, and the call ends with stt_error', async (t) => {
    const call = fakeCall();
    await call.wait(1600);
    call.stt.onFailed(new ProviderError('fake-stt', 'unavailable', 'gone'));
    await call.wait(8000);
    t.match(await call.call.ended, { failure_reason: 'stt_error' });
    t.match(call.texts().at(-1), /something is not working/);
  });

  await t.test(
    'rule 18: a telephone that goes silent without a word is media_timeout; a reset is the carrier',
    async (t) => {
      const silent = fakeCall();
      await silent.wait(2000);
      silent.clock.advance(11_000);
      t.match(await silent.call.ended, { ended_by: 'system', failure_reason: 'media_timeout' });
      const reset = fakeCall();
      await reset.wait(800);
      reset.phone.listener.onGone({ by: 'carrier', lost: true });
      const report = await reset.call.ended;
      t.match(report, { ended_by: 'carrier', hangup_reason: 'carrier_hangup' });
      t.same(
        report.turns.map((turn) => [turn.text, turn.interrupted]),
        [['Hello', true]],
        'what was heard until then is kept',
      );
    },
  );
});

void t.test('rule 17: what the caller was saying when the call ended is kept', async (t) => {
  const call = fakeCall();
  await call.wait(1600);
  await call.wait(300, true);
  call.stt.onInterim({
    text: 'Please call me back at',
    confidence: 0.8,
    endMs: undefined,
    language: undefined,
  });
  call.phone.listener.onGone({ by: 'caller', lost: false });
  t.equal((await call.call.ended).turns.at(-1)!.text, 'Please call me back at');
});

void t.test('a turn stands where the recording has it, though the first audio came late', async (t) => {
  const call = fakeCall();
  call.phone.mediaMs = 0;
  call.clock.advance(500);
  for (let frame = 0; frame < 25; frame++) call.phone.tick(false);
  await call.wait(1600);
  const first = call.recorded.caller.length;
  await call.hears('When do you close?', 600);
  const turn = call.turns().at(-1)!;
  t.equal(turn.role, 'caller');
  // A voice begins with its third frame.
  t.same(
    [turn.start_ms, turn.end_ms],
    [first + 2, first + 29].map((frame) => call.recorded.caller[frame]!.atMs + 20),
  );
});

void t.test('a confidence is written down with four decimals, whoever heard the words', async (t) => {
  const call = fakeCall();
  await call.wait(1600);
  await call.wait(300, true);
  // The mean of three confidences of 0.97.
  const confidence = (0.97 + 0.97 + 0.97) / 3;
  t.not(String(confidence).length, '0.97'.length);
  call.stt.onTurnEnd({ text: 'Please call me back', confidence, endMs: undefined, language: undefined });
  await call.wait(100);
  call.phone.listener.onGone({ by: 'caller', lost: false });
  t.equal((await call.call.ended).turns.at(-1)!.confidence, 0.97);
});

void t.test('keys', async (t) => {
  const call = fakeCall({ llm: () => text('Thank you.') });
  await call.wait(1600);
  for (const digit of '42#') call.phone.listener.onDtmf(digit);
  await call.wait(1200);
  t.match(lastUser(call.requests[0]!), /pressed these keys: 42/);
  t.equal(call.texts().at(-1), 'agent: Thank you.');
});

void t.test('a blind transfer is asked of the carrier once, and ends our part', async (t) => {
  const plan = wirePlan((_, config) => {
    config.transfer.destinations = [salesDestination({ announce_to_caller: 'I am connecting you.' })];
  });
  const start = async () => {
    const call = fakeCall({
      plan,
      llm: () => ({
        events: [
          {
            type: 'tool_call',
            call: { id: 'c', name: 'transfer_call', arguments: '{"destination_id":"sales"}' },
          },
        ],
      }),
    });
    await call.wait(1600);
    await call.hears('Sales please');
    await call.wait(4 * WORD_MS + 600);
    return {
      call,
      command: call.events.find((event) => event.type === 'carrier_command')!.data as {
        command_id: string;
        args: { to: string; transfer_id: string };
      },
    };
  };
  type Started = Awaited<ReturnType<typeof start>>;
  const order = (call: Started['call'], type: 'carrier_result' | 'transfer_result', args: object) =>
    call.call.command({
      v: 1,
      command_id: 'x',
      session_id: call.plan.session_id,
      type,
      args: { ...args },
      expires_at: new Date().toISOString(),
    });
  const answer = (call: Started['call'], commandId: string, ok: boolean) =>
    order(call, 'carrier_result', { command_id: commandId, ok });
  const tell = ({ call, command }: Started, result: string) =>
    order(call, 'transfer_result', { transfer_id: command.args.transfer_id, result });
  const phasesOf = ({ events }: Started['call']) =>
    events.filter(({ type }) => type === 'transfer').map(({ data }) => data['phase']);

  const good = await start();
  t.equal(good.command.args.to, '+14155550123');
  t.equal(good.call.texts().at(-1), 'agent: I am connecting you.');
  answer(good.call, good.command.command_id, true);
  await good.call.wait(20);
  t.equal(good.call.phone.closed?.code, 1000, 'the carrier goes on when our connection ends');
  await good.call.wait(20_000);
  t.equal(good.call.report, undefined, 'it rings somewhere');
  await good.call.wait(15_000);
  t.match(await good.call.call.ended, { hangup_reason: 'transferred' }, 'nobody has said otherwise');
  t.same(phasesOf(good.call), ['begun', 'bridged']);

  const taken = await start();
  taken.call.phone.listener.onGone({ by: 'caller', lost: false });
  await taken.call.wait(100);
  t.equal(taken.call.report, undefined, 'a stream that goes while the carrier connects is no hang-up');
  answer(taken.call, taken.command.command_id, true);
  await taken.call.wait(20);
  tell(taken, 'bridged');
  t.match(await taken.call.call.ended, { ended_by: 'agent', hangup_reason: 'transferred' });

  const back = await start();
  answer(back.call, back.command.command_id, true);
  await back.call.wait(3000);
  tell(back, 'returns');
  await back.call.wait(14_000);
  t.equal(back.call.report, undefined, 'the caller comes back on another connection');
  await back.call.wait(1100);
  t.match(await back.call.call.ended, { ended_by: 'caller', hangup_reason: 'caller_hangup' }, 'or not');
  t.same(phasesOf(back.call), ['begun'], 'who knows from the carrier tells that it failed');
  t.same(back.call.spoken, ['Hello there friend.', 'I am connecting you.'], 'that leg says nothing more');

  const gone = await start();
  answer(gone.call, gone.command.command_id, true);
  await gone.call.wait(20);
  tell(gone, 'caller_left');
  t.match(await gone.call.call.ended, { ended_by: 'caller', hangup_reason: 'caller_hangup' });
  t.match(gone.call.events.findLast(({ type }) => type === 'transfer')?.data, { code: 'caller_left' });

  const lost = await start();
  lost.call.phone.listener.onGone({ by: 'caller', lost: false });
  answer(lost.call, lost.command.command_id, false);
  t.match(await lost.call.call.ended, { ended_by: 'caller', hangup_reason: 'caller_hangup' });

  const bad = await start();
  answer(bad.call, bad.command.command_id, false);
  await bad.call.wait(3 * WORD_MS + 300);
  t.equal(bad.call.texts().at(-1), 'agent: Nobody is free.', 'the agent is back');
});

void t.test('commands from outside', async (t) => {
  const call = fakeCall();
  await call.wait(1600);
  const command = (type: 'say' | 'end', args: object) =>
    call.call.command({
      v: 1,
      command_id: 'x',
      session_id: call.plan.session_id,
      type,
      args: args as Record<string, unknown>,
      expires_at: new Date().toISOString(),
    });
  t.equal(command('say', { text: 'Your taxi is here.' }), undefined);
  await call.wait(4 * WORD_MS + 300);
  t.equal(call.texts().at(-1), 'agent: Your taxi is here.');
  command('end', { ended_by: 'api', hangup_reason: 'api_hangup' });
  t.match(await call.call.ended, { ended_by: 'api', hangup_reason: 'api_hangup' });
  t.equal(command('say', { text: 'Late' }), 'not_live');
});
