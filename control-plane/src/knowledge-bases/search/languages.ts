/** Languages whose words are stemmed, or, where they are written without spaces, found by a dictionary. */
export const KNOWLEDGE_LANGUAGES = [
  ...['ar', 'bg', 'da', 'de', 'el', 'en', 'es', 'fi', 'fr', 'hi', 'hu', 'hy', 'id', 'it', 'ja', 'lt', 'ne'],
  ...['nl', 'no', 'pt', 'ro', 'ru', 'sl', 'sr', 'sv', 'ta', 'th', 'tr', 'uk', 'zh'],
] as const;

export type KnowledgeLanguage = (typeof KNOWLEDGE_LANGUAGES)[number];
