import { readFileSync } from 'node:fs';
import t from 'tap';
import { NOISE_KINDS } from '@parley/emulators/noise/noise-setting';
import { parseNoiseOptions } from './noise-options.ts';
import { INTERRUPTIONS_A_CALL } from './room-talk.ts';

void t.test('a whole run has every kind at five levels, with a hundred interruptions a kind', (t) => {
  const { kinds, calls, systems, half } = parseNoiseOptions([]);
  t.same(
    kinds.map((levels) => levels[0]!.kind),
    NOISE_KINDS,
  );
  for (const levels of kinds) {
    t.same(
      levels.map(({ levelDb }) => levelDb),
      [-30, -20, -15, -10, -5],
    );
    t.equal(new Set(levels.map(({ kind }) => kind)).size, 1);
    t.ok(levels.length * calls * INTERRUPTIONS_A_CALL >= 100);
  }
  t.same([systems, half], [['parley'], 'development']);
  t.end();
});

void t.test('what is asked for, and what cannot be', (t) => {
  t.match(
    parseNoiseOptions(['--system', 'parley, livekit', '--quick', '--calls', '2', '--half', 'held-out']),
    {
      systems: ['parley', 'livekit'],
      kinds: [[{ kind: 'tv', levelDb: -20 }], [{ kind: 'babble', levelDb: -20 }]],
      calls: 2,
      half: 'held-out',
    },
  );
  t.same(
    parseNoiseOptions(['--kinds', 'dog', '--levels=-10,0']).kinds[0]!.map(({ levelDb }) => levelDb),
    [-10, 0],
  );
  t.throws(() => parseNoiseOptions(['--system', 'pipecat']), /livekit/);
  t.throws(() => parseNoiseOptions(['--kinds', 'whale']), /babble/);
  t.throws(() => parseNoiseOptions(['--levels=-99']), /KIND:LEVEL/);
  t.throws(() => parseNoiseOptions(['--calls', '0']));
  t.throws(() => parseNoiseOptions(['--system', 'livekit', '--carrier', 'telnyx']), /plivo and twilio/);
  t.end();
});

void t.test('the documented runs have options that are there', (t) => {
  const text = readFileSync(new URL('../../../docs/performance.md', import.meta.url), 'utf8');
  const commands = [...text.matchAll(/^npm run loadtest:noise(?: -- ([^#\n]*))?/gm)];
  t.ok(commands.length > 1);
  for (const [command, options = ''] of commands)
    t.doesNotThrow(() => parseNoiseOptions(options.split(/ +/).filter(Boolean)), command);
  t.end();
});
