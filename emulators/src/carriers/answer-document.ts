/** The document breaks XML's rules, or holds what the carrier has no word for. */
export class AnswerDocumentError extends Error {
  constructor(problem: string) {
    super(`The answer document is invalid: ${problem}.`);
    this.name = 'AnswerDocumentError';
  }
}

export interface XmlElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: readonly XmlElement[];
  /** Character data of the element itself, trimmed. */
  text: string;
}

interface OpenElement extends XmlElement {
  children: XmlElement[];
}

const TOKEN =
  /<\?[^]*?\?>|<!--[^]*?-->|<!\[CDATA\[([^]*?)\]\]>|<\/([\w:.-]+)\s*>|<([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)/y;
const ATTRIBUTE = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Reads an answer document as a carrier's parser does: well-formed XML with one `<Response>` at the top.
 * @returns the elements in it, in order
 * @throws AnswerDocumentError
 */
export function parseAnswerDocument(xml: string): readonly XmlElement[] {
  const top: OpenElement = { name: '', attributes: {}, children: [], text: '' };
  const open = [top];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < xml.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(xml);
    if (!match) throw new AnswerDocumentError(`not well-formed at character ${at}`);
    const [, cdata, closing, opening, attributes, selfClosing, text] = match;
    const parent = open.at(-1)!;
    if (closing !== undefined) {
      if (parent.name !== closing) throw new AnswerDocumentError(`</${closing}> closes <${parent.name}>`);
      parent.text = parent.text.trim();
      open.pop();
    } else if (opening !== undefined) {
      const element: OpenElement = {
        name: opening,
        attributes: parseAttributes(attributes ?? ''),
        children: [],
        text: '',
      };
      parent.children.push(element);
      if (selfClosing === '') open.push(element);
    } else if (cdata !== undefined) parent.text += cdata;
    else if (text !== undefined) parent.text += unescapeXml(text);
    if (open.length === 0) throw new AnswerDocumentError('too many closing tags');
  }
  if (open.length > 1) throw new AnswerDocumentError(`<${open.at(-1)!.name}> is not closed`);
  const [response, ...others] = top.children;
  if (response?.name !== 'Response' || others.length > 0 || top.text.trim() !== '')
    throw new AnswerDocumentError('not exactly one <Response>');
  return response.children;
}

function parseAttributes(source: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name, double, single] of source.matchAll(ATTRIBUTE)) {
    if (name! in attributes) throw new AnswerDocumentError(`two attributes ${name}`);
    attributes[name!] = unescapeXml(double ?? single ?? '');
  }
  return attributes;
}

function unescapeXml(text: string): string {
  return text.replaceAll(/&([^;&\s]*);?/g, (whole, name: string) => {
    if (!whole.endsWith(';')) throw new AnswerDocumentError('a bare &');
    const code = /^#(?:x([0-9a-f]+)|(\d+))$/i.exec(name);
    if (code) return String.fromCodePoint(code[1] ? parseInt(code[1], 16) : Number(code[2]));
    const character = ENTITIES[name];
    if (character === undefined) throw new AnswerDocumentError(`unknown entity &${name};`);
    return character;
  });
}
