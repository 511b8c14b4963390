import t from 'tap';
import { toLocale } from './locale.ts';

void t.test('every tag has a locale', (t) => {
  const tags: [string, string][] = [
    ['pt-br', 'pt-BR'],
    ['zh-Hans-CN', 'zh-Hans-CN'],
    ['en-US-GB', 'en'],
    ['de-x1', 'de'],
    ['1', 'en'],
  ];
  for (const [tag, locale] of tags) t.equal(toLocale(tag).toString(), locale, tag);
  t.end();
});
