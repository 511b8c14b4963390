/** Why no text could be taken from a document, as its owner reads it. */
export const DOCUMENT_FAILURES = {
  broken: 'The document is damaged or not of the kind that its name says.',
  encrypted: 'The document is protected by a password. Remove the password and upload it again.',
  no_text: 'The document holds no text. Scanned pages need text recognition (OCR) first.',
  not_text: 'The document is not a text file: it holds binary data.',
  too_many_pages: 'The document has more than 2000 pages. Split it into smaller documents.',
  too_much_text: 'The document holds more text than a document may: 10 million characters. Split it.',
  too_complex: 'The document could not be read within the limits of time and memory. Simplify or split it.',
  unpacks_too_large: 'The document unpacks to more than 200 MB, which no ordinary document does.',
  too_deep: 'The document is nested too deeply to be read.',
} as const;

export type DocumentFailure = keyof typeof DOCUMENT_FAILURES;

/** The document cannot be read, however often it is tried. The message is for its owner. */
export class DocumentError extends Error {
  /** Undefined for what has to do with its address. */
  readonly failure: DocumentFailure | undefined;

  constructor(failure: DocumentFailure, options?: ErrorOptions);
  constructor(failure: undefined, options: ErrorOptions & { message: string });
  constructor(failure: DocumentFailure | undefined, options?: ErrorOptions & { message?: string }) {
    super(failure === undefined ? options?.message : DOCUMENT_FAILURES[failure], options);
    this.name = 'DocumentError';
    this.failure = failure;
  }

  static because(message: string): DocumentError {
    return new DocumentError(undefined, { message });
  }
}
