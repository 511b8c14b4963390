/** What is spoken where a carrier's voices know neither the language nor one like it. */
const FALLBACK = 'en-US';

/**
 * The language of a carrier's voices that is nearest to one that is wanted: itself, else the first of the same language.
 * @param wanted BCP 47 tag, such as `de` or `de-AT`
 * @param spoken tags as the carrier writes them, the usual one of each language first
 */
export function nearestLanguage(wanted: string, spoken: readonly string[]): string {
  const tag = wanted.toLowerCase();
  const [language] = tag.split('-');
  return (
    spoken.find((one) => one.toLowerCase() === tag) ??
    spoken.find((one) => one.toLowerCase().split('-')[0] === language) ??
    FALLBACK
  );
}
