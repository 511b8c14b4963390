import type { ToolMock } from '../call/tool-mocks.ts';

/** What somebody wrote to be answered in place of a tool. */
export interface MockDraft {
  fails: boolean;
  /** JSON or plain text; why it fails. */
  text: string;
}

/** As the API takes them. @param drafts by tool */
export function toToolMocks(drafts: Readonly<Record<string, MockDraft>>): ToolMock[] {
  return Object.entries(drafts).map(([tool_id, { fails, text }]) => ({
    ...{ tool_id, function: null, match: {} },
    ...(fails
      ? { result: null, error: text.trim() === '' ? 'failed' : text }
      : { result: valueOf(text), error: null }),
  }));
}

/** What is no JSON is text. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
