import { toLocale } from './locale.ts';

/** Making one takes half a millisecond. */
const names = new Intl.DisplayNames(['en'], { type: 'language' });

/** English name of the language of a BCP 47 tag: "Austrian German" of `de-AT`. */
export function languageName(tag: string): string {
  return names.of(toLocale(tag).baseName) ?? tag;
}
