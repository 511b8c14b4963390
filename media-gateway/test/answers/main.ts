import { parseArgs } from 'node:util';
import { ANSWER_CORPUS, type AnswerHalf } from '@parley/emulators/answers/answer-corpus';
import { openSpeaker } from '@parley/emulators/noise/voices';
import { SyncVoiceModel } from '../../src/hearing/voice-model/sync-voice-model.ts';
import { answerTables, isRight, isWronged } from './answer-report.ts';
import { measureAnswer, type AnswerResult } from './measure-answers.ts';

const HALVES = Object.keys(ANSWER_CORPUS) as AnswerHalf[];
const USAGE = `Usage: npm run loadtest:answers -- [options]

Plays emulated answers to outbound calls (people, recorders, screening assistants, menus, music, silence) to the gateway's
answer detection, and prints what each was taken for, when, and how long people waited for the agent.

  --half HALF  ${HALVES.join(' or ')} (both)
  --loud       without the voice model: loudness alone tells voices
  --all        each answer with its verdicts, not only the wrong ones
  --help       this text

Ends with 1 when a person was taken for a machine.
`;

const { values } = parseArgs({
  options: {
    half: { type: 'string' },
    loud: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(USAGE);
else {
  const speak = await openSpeaker();
  const model = values.loud ? undefined : new SyncVoiceModel();
  for (const half of HALVES.filter((one) => values.half === undefined || values.half === one)) {
    const results: AnswerResult[] = [];
    for (const [seed, script] of ANSWER_CORPUS[half].entries())
      results.push(
        await measureAnswer(script, { speak, seed, model, law: seed % 2 === 0 ? 'pcmu' : 'pcma' }),
      );
    const wronged = results.filter(isWronged);
    const shown = values.all ? results : results.filter((result) => !isRight(result) || isWronged(result));
    process.stdout.write(
      `${half}: ${results.length} answers, ${results.filter(isRight).length} right, people taken for machines: ${wronged.length}\n\n` +
        `${answerTables(results)}\n\n` +
        shown
          .map(
            ({ kind, verdicts, by, afterMs, silenceMs, said }) =>
              `${kind}: ${verdicts.join(', ') || 'none'} (${by ?? '-'}, ${afterMs ?? '-'} ms, silence ${Math.round(silenceMs ?? -1)} ms): ${said.slice(0, 90)}\n`,
          )
          .join('') +
        '\n',
    );
    if (wronged.length > 0) process.exitCode = 1;
  }
}
