import { readFile } from 'node:fs/promises';
import t from 'tap';

const read = (file: string) => readFile(new URL(`../${file}`, import.meta.url), 'utf8');

void t.test('the image starts the gateway as npm does', async (t) => {
  const { scripts } = JSON.parse(await read('package.json')) as { scripts: { start: string } };
  const command = /^CMD (\[.*\])$/m.exec(await read('Dockerfile'))?.[1];
  t.same(
    (JSON.parse(command ?? '[]') as string[]).map((word) => word.replace('media-gateway/', '')),
    scripts.start.split(' '),
  );
});
