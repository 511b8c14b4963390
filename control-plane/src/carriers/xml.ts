/** Escapes text for element content and double-quoted attributes (XML 1.0, section 2.4). Control characters go. */
export function escapeXml(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;');
}

export const XML_TYPE = 'application/xml; charset=utf-8';

/** Puts elements into the carriers' common envelope. */
export function responseDocument(...elements: string[]): { contentType: string; body: string } {
  return {
    contentType: XML_TYPE,
    body: `<?xml version="1.0" encoding="UTF-8"?>\n<Response>${elements.join('')}</Response>`,
  };
}
