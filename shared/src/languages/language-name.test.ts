import t from 'tap';
import { languageName } from './language-name.ts';

void t.test('languages have English names, whatever the tag', (t) => {
  const tags: [string, string][] = [
    ['de', 'German'],
    ['de-AT', 'Austrian German'],
    ['en-US-GB', 'English'],
    ['no language', 'English'],
    ['zz', 'zz'],
  ];
  for (const [tag, name] of tags) t.equal(languageName(tag), name, tag);
  t.end();
});
