import t from 'tap';
import { ANSWER_CORPUS } from '@parley/emulators/answers/answer-corpus';
import { openSpeaker } from '@parley/emulators/noise/voices';
import { answerTables, isRight, isWronged } from '../../test/answers/answer-report.ts';
import { measureAnswer, type AnswerResult } from '../../test/answers/measure-answers.ts';
import { SyncVoiceModel } from '../hearing/voice-model/sync-voice-model.ts';

/** Each so many of the answers; all of them are played by `npm run loadtest:answers`. */
const EVERY = 9;
/** Between the end of a person's greeting and the agent's first audio. */
const MOST_SILENCE_MS = 700;

void t.test('a sample of answers is taken for what it is, and people do not wait', async (t) => {
  const speak = await openSpeaker();
  const model = new SyncVoiceModel();
  const results: AnswerResult[] = [];
  for (const [seed, script] of ANSWER_CORPUS.development.entries())
    if (seed % EVERY === 0) results.push(await measureAnswer(script, { speak, seed, model, law: 'pcmu' }));
  t.same(results.filter(isWronged), [], 'no person is a machine');
  const wrong = results.filter((result) => !isRight(result));
  t.ok(
    wrong.length <= 1,
    `${results.length - wrong.length} of ${results.length} are right: ${JSON.stringify(wrong)}`,
  );
  for (const { kind, said, silenceMs } of results)
    if (kind === 'human') t.ok(silenceMs! <= MOST_SILENCE_MS, `${silenceMs} ms behind "${said}"`);
  t.match(answerTables(results), /^\| answered .*\n\| --- .*\n\| human \| 4 \| 4 \|/);
});
