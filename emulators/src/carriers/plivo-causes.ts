import type { EmulatedCallEnd } from '../callers/emulated-call.ts';
import type { Rung } from '../callers/telephone.ts';
import { AnswerDocumentError } from './answer-document.ts';

/** How a call ended, in Plivo's words; carriers 1.4. */
export interface PlivoCause {
  source: EmulatedCallEnd['source'];
  status: string;
  code: string;
  cause: string;
  name: string;
  hangupSource: string;
}

export const CAUSES = {
  caller: cause('caller', 'completed', '4000', 'NORMAL_CLEARING', 'Normal Hangup', 'Caller'),
  cancelled: cause('caller', 'no-answer', '1000', 'ORIGINATOR_CANCEL', 'Cancelled', 'Caller'),
  api: cause('api', 'completed', '4000', 'NORMAL_CLEARING', 'Normal Hangup', 'API Request'),
  document: cause('document', 'completed', '4000', 'NORMAL_CLEARING', 'Normal Hangup', 'Answer XML'),
  endOfXml: cause(
    'document',
    'completed',
    '4010',
    'NORMAL_CLEARING',
    'End Of XML Instructions',
    'Answer XML',
  ),
  rejected: cause('document', 'failed', '3020', 'CALL_REJECTED', 'Rejected', 'Answer XML'),
  busy: cause('document', 'busy', '3010', 'USER_BUSY', 'Busy Line', 'Answer XML'),
  target: cause('target', 'completed', '4000', 'NORMAL_CLEARING', 'Normal Hangup', 'Callee'),
  /** Of a call that was dialled: the person who was called. */
  callee: cause('caller', 'completed', '4000', 'NORMAL_CLEARING', 'Normal Hangup', 'Callee'),
  withdrawn: cause('api', 'failed', '1000', 'ORIGINATOR_CANCEL', 'Cancelled', 'API Request'),
  timeLimit: cause(
    'network',
    'completed',
    '6000',
    'NORMAL_CLEARING',
    'Scheduled Hangup Time Reached',
    'Plivo',
  ),
} as const;

/** What becomes of a telephone that does not answer. */
export const RUNG: Record<Exclude<Rung, 'answered' | 'cancelled'>, PlivoCause> = {
  busy: cause('caller', 'busy', '3010', 'USER_BUSY', 'Busy Line', 'Callee'),
  refused: cause('caller', 'failed', '3020', 'CALL_REJECTED', 'Rejected', 'Callee'),
  not_in_service: cause(
    'network',
    'failed',
    '3050',
    'UNALLOCATED_NUMBER',
    'Destination Out Of Service',
    'Carrier',
  ),
  rung_out: cause('network', 'timeout', '6010', 'NO_ANSWER', 'Ring Timeout Reached', 'Plivo'),
};

function cause(
  source: EmulatedCallEnd['source'],
  status: string,
  code: string,
  text: string,
  name: string,
  hangupSource: string,
): PlivoCause {
  return { source, status, code, cause: text, name, hangupSource };
}

/** Which document was wrong: its digit in the codes 701x (URL) and 801x (XML). */
const DOCUMENTS = { answer: 1, action: 2, transfer: 3, redirect: 4 } as const;
export type DocumentKind = keyof typeof DOCUMENTS;

/** A document could not be had, or is none. */
export class DocumentFault extends Error {
  readonly end: PlivoCause;

  constructor(kind: DocumentKind, error: unknown) {
    const invalid = error instanceof AnswerDocumentError;
    super(error instanceof Error ? error.message : 'failed', { cause: error });
    const what = `${kind[0]!.toUpperCase()}${kind.slice(1)}`;
    this.end = cause(
      'network',
      'failed',
      `${invalid ? 801 : 701}${DOCUMENTS[kind]}`,
      'NORMAL_CLEARING',
      invalid ? `Invalid ${what} XML` : `${what} URL Error`,
      'Error',
    );
  }
}
