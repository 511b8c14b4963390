import { AppError } from '@parley/shared/errors/app-error';

/** What documents may be, by the ends of their names. */
export const DOCUMENT_FORMATS = {
  pdf: { mime: 'application/pdf', ends: ['pdf'] },
  docx: {
    mime: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    ends: ['docx'],
  },
  txt: { mime: 'text/plain', ends: ['txt', 'text', 'log'] },
  md: { mime: 'text/markdown', ends: ['md', 'markdown'] },
  html: { mime: 'text/html', ends: ['html', 'htm'] },
  csv: { mime: 'text/csv', ends: ['csv'] },
  json: { mime: 'application/json', ends: ['json'] },
} as const;

export type DocumentFormat = keyof typeof DOCUMENT_FORMATS;

const FORMATS = Object.keys(DOCUMENT_FORMATS) as DocumentFormat[];
const OTHER_TYPES: Readonly<Record<string, DocumentFormat>> = {
  'application/xhtml+xml': 'html',
  'text/x-markdown': 'md',
};

/**
 * What a document is: by its content type if that says it, else by the end of its name. Names win over `text/plain`,
 * which is what servers send for everything that is text.
 * @throws AppError 415 `unsupported_media_type`
 */
export function formatOf(name: string, contentType: string | undefined): DocumentFormat {
  const type = (contentType ?? '').split(';')[0]!.trim().toLowerCase();
  const end = /\.([a-z0-9]{1,10})$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const byType = FORMATS.find((format) => DOCUMENT_FORMATS[format].mime === type) ?? OTHER_TYPES[type];
  const byName = FORMATS.find((format) => (DOCUMENT_FORMATS[format].ends as readonly string[]).includes(end));
  const found = byType === 'txt' ? (byName ?? byType) : (byType ?? byName);
  if (found) return found;
  throw new AppError(
    415,
    'unsupported_media_type',
    `Unsupported kind of document. Send one of: ${FORMATS.join(', ')}.`,
  );
}

/** @throws Error for a type that none has: a mistake of the program */
export function formatOfMime(mime: string): DocumentFormat {
  const found = FORMATS.find((format) => DOCUMENT_FORMATS[format].mime === mime);
  if (!found) throw new Error(`There is no document of the type ${mime}.`);
  return found;
}
