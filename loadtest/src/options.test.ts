import { readFileSync } from 'node:fs';
import t from 'tap';
import { parseOptions } from './options.ts';

// What runs for minutes cannot be run by a test: that the documents ask for options that exist can.

void t.test('the documented load tests have options that are there', (t) => {
  const commands = ['performance', 'scaling'].flatMap((name) => {
    const text = readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');
    return [...text.matchAll(/^npm run loadtest -- ([^#\n]*)/gm)].map(([, options]) => options!.trim());
  });
  t.ok(commands.length > 10);
  for (const command of commands) t.doesNotThrow(() => parseOptions(command.split(/ +/)), command);
  t.match(parseOptions(['--real', '--tokens', '100']), {
    'provider-tls': true,
    record: true,
    tokens: 100,
    'stt-start-ms': 120,
    turns: 30,
  });
  t.throws(() => parseOptions(['--loudly']), { message: /--loudly/ });
  t.end();
});
