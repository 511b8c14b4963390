/**
 * The locale of a language tag; that of its language alone where the rest of it means nothing ("en-US-GB"), and
 * English where that means nothing either.
 */
export function toLocale(tag: string): Intl.Locale {
  for (const part of [tag, tag.split('-', 1)[0]!]) {
    try {
      return new Intl.Locale(part);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return new Intl.Locale('en');
}
