import t from 'tap';
import { histogramOf } from '@parley/shared/values/log-histogram';
import { replyLatencies } from './reply-latencies.ts';

const NONE = {
  e2e: null,
  stt_final: null,
  llm_first_token: null,
  tts_first_audio: null,
  thought_ahead: null,
};

void t.test('replies are counted by what each waited for', (t) => {
  t.same(replyLatencies([{}, { latency: { ...NONE, tts_first_audio: 90 } }]), {}, 'a greeting is no reply');
  t.same(
    replyLatencies([
      { latency: { ...NONE, e2e: 800, stt_final: 300, llm_first_token: 280, tts_first_audio: 140 } },
      { latency: { ...NONE, e2e: 800, llm_first_token: 280, thought_ahead: 100 } },
      { latency: { ...NONE, e2e: 60, llm_first_token: 280, thought_ahead: 400 } },
    ]),
    {
      reply: histogramOf([800, 800, 60]),
      turn_end: histogramOf([300]),
      llm: histogramOf([280, 180, 0]),
      voice: histogramOf([140]),
    },
  );
  t.end();
});
