/** `{{name}}` or `{{name|text if empty}}`. */
const PLACEHOLDER = /\{\{\s*([^{}|]+?)\s*(?:\|([^{}]*))?\}\}/g;

/**
 * Fills placeholders. An unknown or empty one becomes its fallback, or nothing: a placeholder is never read aloud.
 * @param onMissing told each name that had neither value nor fallback
 */
export function renderTemplate(
  text: string,
  lookup: (name: string) => string | undefined,
  onMissing: (name: string) => void,
): string {
  return text.replace(PLACEHOLDER, (_, name: string, fallback: string | undefined) => {
    const value = lookup(name);
    if (value !== undefined && value !== '') return value;
    if (fallback === undefined) onMissing(name);
    return fallback?.trim() ?? '';
  });
}

/** The names in a text's placeholders. */
export function placeholdersOf(text: string): string[] {
  return Array.from(text.matchAll(PLACEHOLDER), ([, name]) => name!);
}
