import t from 'tap';
import { MULAW_TO_PCM16 } from '@parley/shared/audio/g711';
import { fakeCall, wirePlan } from './fakes.ts';

void t.test(
  'the voice gets words, the transcript has the text of the agent, cut where it was heard',
  async (t) => {
    for (const words of [true, false]) {
      const call = fakeCall({
        words,
        plan: wirePlan((plan, config) => {
          plan.agent.greeting = 'It is $12.50 at nginx, please call 415-555-0100 before noon.';
          config.tts.pronunciations = [{ word: 'nginx', say: 'engine x' }];
        }),
      });
      await call.wait(200);
      t.same(call.spoken, [
        'It is twelve dollars and fifty cents at engine x, please call four one five, five five five, zero one zero zero before noon.',
      ]);
      // 400 ms a word: in the middle of the telephone number.
      await call.wait(400 * 15);
      await call.hears('Wait, stop.', 800);
      await call.wait(200);
      t.match(call.turns()[0], {
        text: 'It is $12.50 at nginx, please call',
        interrupted: true,
      });
      call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
    }
  },
);

void t.test('the volume is that of the voice, as it goes out and as it is recorded', async (t) => {
  const loudness = async (volume: number) => {
    const call = fakeCall({ plan: wirePlan((_plan, config) => void (config.tts.volume = volume)) });
    await call.wait(600);
    call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
    return Math.abs(MULAW_TO_PCM16[call.phone.sent[0]![0]!]!);
  };
  const [plain, half, none] = [await loudness(1), await loudness(0.5), await loudness(0)];
  t.equal(plain, Math.abs(MULAW_TO_PCM16[0x20]!));
  t.ok(Math.abs(half / plain - 0.5) < 0.05);
  t.equal(none, 0);
});
