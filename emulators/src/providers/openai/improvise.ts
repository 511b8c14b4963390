import { textOf, type ChatMessage, type ChatRequest } from './chat-request.ts';
import { GOODBYE, NUMBERS, PHRASES, STOP_WORDS, SYNONYMS, type Phrases } from './improvised-words.ts';

/**
 * What the emulated model answers for an agent that no script knows. It understands nothing: it finds the sentence of the
 * system prompt or of documents, or the tool, that shares most words with the caller's, asks for what the tool requires, calls it, and
 * reads out its result. In the language that the prompt names, as far as `improvised-words.ts` has it.
 */
export interface Improvisation {
  text: string;
  toolCalls: { name: string; arguments: Record<string, unknown> }[];
}

interface Tool {
  name: string;
  description: string;
  properties: [name: string, schema: Schema][];
  required: ReadonlySet<string>;
}

interface Schema {
  type?: unknown;
  description?: unknown;
  enum?: unknown;
  format?: unknown;
  items?: unknown;
}

/** Tools that are not chosen by what the caller wants done. */
const NOT_ASKED_FOR = new Set(['end_call', 'send_dtmf']);
const MAX_SPOKEN_FIELDS = 4;

export function improvise(request: ChatRequest): Improvisation {
  const { messages } = request;
  const system = messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(textOf)
    .join('\n');
  const phrases = phrasesOf(system);
  const last = messages.at(-1);
  if (last?.role === 'tool') return say(describeResult(textOf(last), phrases));

  const said = textOf(messages.findLast(({ role }) => role === 'user') ?? { role: 'user', content: '' });
  const keys = /pressed these keys: ([0-9A-D*#]+)/.exec(said)?.[1];
  if (keys !== undefined) return say(phrases.keys.replace('{keys}', keys));
  if (/^\s*(\[[^\]]*\]\s*)*$/.test(said)) return say(phrases.stillThere);

  const tools = request.tool_choice === 'none' ? [] : toolsOf(request);
  if (GOODBYE.test(said)) {
    const ends = tools.some(({ name }) => name === 'end_call');
    return { text: phrases.goodbye, toolCalls: ends ? [{ name: 'end_call', arguments: {} }] : [] };
  }
  const facts = [...factsOf(system), ...passagesOf(messages)];
  const words = stemsOf(said);
  const fact = best(facts, (sentence) => shared(words, stemsOf(sentence)));
  const asked = askedFor(messages, tools, phrases);
  const useful = tools.filter(({ name }) => !NOT_ASKED_FOR.has(name));
  // Somebody who says all that a tool requires wants it, without its words.
  const wanted = best(
    useful,
    (tool) => shared(words, wordsOfTool(tool)) + (saysAll(tool, said, facts) ? 1 : 0),
  );
  const question = isQuestion(said);
  if (asked && !(question && fact.score > 0)) return useTool(asked, messages, facts, phrases);
  if (wanted.item && wanted.score > 0 && !(question && fact.score >= wanted.score))
    return useTool(wanted.item, messages, facts, phrases);
  if (fact.item !== undefined && fact.score > 0) return say(fact.item);
  const able = useful.map(({ name, description }) => description || name.replaceAll('_', ' '));
  return say(
    [phrases.cannot, ...(able.length > 0 ? [phrases.tools.replace('{what}', able.join(' '))] : [])].join(' '),
  );
}

const say = (text: string): Improvisation => ({ text, toolCalls: [] });

function phrasesOf(system: string): Phrases {
  const names = Object.keys(PHRASES).join('|');
  const named = new RegExp(`\\b(?:call is in|speak|answer in|reply in|in) (?:\\w+ )?(${names})\\b`, 'i').exec(
    system,
  );
  const name = named?.[1] ?? 'English';
  return PHRASES[name[0]!.toUpperCase() + name.slice(1).toLowerCase()]!;
}

/** Sentences that say how something is. Those that tell the agent what to do are for the agent. */
function factsOf(system: string): string[] {
  // What follows is the platform's own: rules of spoken language and memories.
  const prompt = system.split(
    /\n\n(?=You are speaking with a person|Between the marks|Lines between <knowledge>)/,
  )[0]!;
  return (prompt.match(/[^.!?\n]+(?:\.(?=\d)[^.!?\n]+)*[.!?]?/g) ?? [])
    .map((sentence) => sentence.replace(/^[\s*#•-]+/, '').trim())
    .filter(
      (sentence) =>
        sentence !== '' &&
        !/\btools?\b|[a-z]_[a-z]/i.test(sentence) &&
        !/^(you|du|sie|tu|vous|usted|if|when|wenn|never|always|do not|don't|ask|use|call|tell|say|after|before|be|frag|sag|nutze)\b/i.test(
          sentence,
        ),
    );
}

/** Sentences of the documents that the last question came with. */
function passagesOf(messages: readonly ChatMessage[]): string[] {
  const told = messages.findLast(({ role }) => role !== 'assistant' && role !== 'tool');
  const before = messages[messages.lastIndexOf(told!) - 1];
  const block = /<knowledge>\n([^]*)\n<\/knowledge>/.exec(before ? textOf(before) : '')?.[1] ?? '';
  return block
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .flatMap((line) => factsOf((JSON.parse(line) as { text: string }).text));
}

function toolsOf({ tools = [] }: ChatRequest): Tool[] {
  return tools.map(({ function: { name, description = '', parameters = {} } }) => ({
    name,
    description,
    properties: Object.entries((parameters['properties'] ?? {}) as Record<string, Schema>),
    required: new Set(Array.isArray(parameters['required']) ? (parameters['required'] as string[]) : []),
  }));
}

function wordsOfTool({ name, description, properties }: Tool): ReadonlySet<string> {
  const texts = properties.flatMap(([, schema]) => enumOf(schema));
  return stemsOf([name.replaceAll(/[_-]/g, ' '), description, ...texts].join(' '));
}

/** The parameter that the agent has just asked for. */
function askedFor(
  messages: readonly ChatMessage[],
  tools: readonly Tool[],
  phrases: Phrases,
): Tool | undefined {
  const before = messages.findLast(({ role }) => role === 'assistant');
  const text = before ? textOf(before) : '';
  return tools.find(({ properties }) =>
    properties.some(([name, schema]) => text.endsWith(questionFor(name, schema, phrases))),
  );
}

function saysAll({ properties, required }: Tool, said: string, facts: readonly string[]): boolean {
  const needed = properties.filter(([name]) => required.has(name));
  return (
    needed.length > 1 && needed.every(([name, schema]) => valueIn(said, name, schema, facts) !== undefined)
  );
}

function questionFor(property: string, schema: Schema, phrases: Phrases): string {
  const what = typeof schema.description === 'string' ? schema.description : property.replaceAll('_', ' ');
  return phrases.ask.replace('{what}', what.replace(/[.?!]+$/, ''));
}

/** Calls the tool, or asks for the first thing that it requires and nobody has said. */
function useTool(
  tool: Tool,
  messages: readonly ChatMessage[],
  facts: readonly string[],
  phrases: Phrases,
): Improvisation {
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'tool') + 1);
  const given: Record<string, unknown> = {};
  for (const [name, schema] of tool.properties) {
    const question = questionFor(name, schema, phrases);
    let value: unknown;
    for (const [index, message] of since.entries()) {
      if (message.role !== 'user') continue;
      const before = since[index - 1];
      const answers = before?.role === 'assistant' && textOf(before).endsWith(question);
      const turn = textOf(message);
      // The latest turn that has something of the kind; the answer to a question is believed as it is.
      value =
        valueIn(turn, name, schema, facts) ?? (answers ? wholeAnswer(turn, schema) : undefined) ?? value;
    }
    if (value !== undefined) given[name] = value;
    else if (tool.required.has(name)) return say(question);
  }
  return { text: phrases.moment, toolCalls: [{ name: tool.name, arguments: given }] };
}

const DAY =
  /\b(today|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day|heute|morgen|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|demain|aujourd'hui|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|mañana|hoy|lunes|martes|miércoles|jueves|viernes|sábado|domingo|\d{4}-\d{2}-\d{2})(?![\p{L}])/iu;
const TIME =
  /\b(?:at|um|à|a las|alle|às|om) ((?:half past |quarter (?:to|past) )?[\p{L}\d:.]+(?: (?:a\.?m\.?|p\.?m\.?|uhr|heures|o'clock)\b)?)/iu;
const NAME =
  /\b(?:my name is|this is|mein name ist|ich heiße|je m'appelle|me llamo|mi chiamo|o meu nome é|ik heet)\s+(\p{L}[\p{L}'-]*(?:\s+\p{Lu}[\p{L}'-]+)?)/iu;
const PHONE = /\+?\d[\d ()-]{5,18}\d/;
const EMAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/;

/** What a turn says of a parameter, by its schema and by what its name and description hint at; undefined: nothing. */
function valueIn(turn: string, name: string, schema: Schema, facts: readonly string[]): unknown {
  const hint = `${name.replaceAll('_', ' ')} ${typeof schema.description === 'string' ? schema.description : ''}`;
  const choices = enumOf(schema);
  if (choices.length > 0) {
    const words = stemsOf(turn);
    const choice = best(choices, (one) => shared(words, stemsOf(one.replaceAll('_', ' '))));
    return choice.score > 0 ? choice.item : undefined;
  }
  switch (schema.type) {
    case 'integer':
    case 'number':
      return numberIn(turn.replace(TIME, ''), schema.type === 'integer');
    case 'boolean':
      return /\b(yes|ja|oui|sí|sì|sim)(?!\p{L})/iu.test(turn)
        ? true
        : /\b(no|nein|non|não|nee)(?!\p{L})/iu.test(turn)
          ? false
          : undefined;
    case 'string':
    case undefined:
      return textIn(turn, hint, schema.format, facts);
    default:
      return undefined;
  }
}

function textIn(turn: string, hint: string, format: unknown, facts: readonly string[]): string | undefined {
  if (/e-?mail/i.test(hint) || format === 'email') return EMAIL.exec(turn)?.[0];
  if (/\b(phone|mobile|telephone|telefon)/i.test(hint)) return PHONE.exec(turn)?.[0];
  if (/\b(day|date|tag|datum|jour|día|fecha|giorno|dia|dag)\b/i.test(hint) || format === 'date')
    return DAY.exec(turn)?.[1];
  if (/\b(time|hour|uhrzeit|zeit|heure|hora|ora|tijd)\b/i.test(hint) || format === 'time')
    return TIME.exec(turn)?.[1];
  if (/\b(name|nom|nombre|nome|naam)\b/i.test(hint)) return NAME.exec(turn)?.[1];
  // A thing that the prompt tells of, in the caller's words.
  const known = new Set(facts.flatMap((fact) => [...stemsOf(fact)]));
  const run = turn
    .split(/[^\p{L}\p{N}'-]+/u)
    .filter((word) =>
      [...stemsOf(word)].some((stem) => known.has(stem) && !SYNONYM_OF.has(word.toLowerCase())),
    );
  return run.length > 0 ? run.join(' ') : undefined;
}

function wholeAnswer(turn: string, schema: Schema): unknown {
  if (schema.type !== undefined && schema.type !== 'string') return undefined;
  const text = turn.replace(/[.!?\s]+$/, '').trim();
  return enumOf(schema).length > 0 || text === '' ? undefined : text;
}

function numberIn(text: string, whole: boolean): number | undefined {
  for (const word of text.toLowerCase().split(/[^\p{L}\d.]+/u)) {
    const digits = /^\d+(\.\d+)?/.exec(word);
    const value = digits ? Number(digits[0]) : NUMBERS[word];
    if (value !== undefined && (!whole || Number.isInteger(value))) return value;
  }
  return undefined;
}

/** A result in a sentence: what it says of itself, else its first few fields. */
function describeResult(content: string, phrases: Phrases): string {
  let result: unknown = content;
  try {
    result = JSON.parse(content);
  } catch {
    // Tools may answer with plain text.
  }
  if (typeof result !== 'object' || result === null) return `${phrases.done} ${String(result)}`.trim();
  const fields = result as Record<string, unknown>;
  if (fields['ok'] === false || (typeof fields['error'] === 'string' && fields['ok'] !== true))
    return [phrases.failed, ...(typeof fields['error'] === 'string' ? [fields['error']] : [])].join(' ');
  for (const name of ['message', 'summary', 'text', 'answer'])
    if (typeof fields[name] === 'string') return fields[name];
  const told = Object.entries(fields)
    .filter(([, value]) => typeof value === 'string' || typeof value === 'number')
    .slice(0, MAX_SPOKEN_FIELDS)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${String(value)}`);
  return told.length === 0 ? phrases.done : `${phrases.done} ${told.join(', ')}.`;
}

function isQuestion(text: string): boolean {
  return /\?\s*$|^(what|when|where|which|who|how|do|does|is|are|was|wann|wo|wie|welche|quand|où|combien|qué|cuándo|dónde|cuánto|quando|dove|quanto)\b/iu.test(
    text.trim(),
  );
}

const enumOf = ({ enum: values }: Schema): string[] =>
  Array.isArray(values) ? values.filter((value): value is string => typeof value === 'string') : [];

const SYNONYM_OF = new Map(SYNONYMS.flatMap((words) => words.map((word) => [word, `=${words[0]!}`])));

/** What a text is about: its words without endings, those that mean the same as one. */
function stemsOf(text: string): ReadonlySet<string> {
  const stems = new Set<string>();
  for (const word of text.toLowerCase().split(/[^\p{L}\p{N}'-]+/u)) {
    const synonym = SYNONYM_OF.get(word);
    if (synonym !== undefined) stems.add(synonym);
    else if (word.length > 1 && !STOP_WORDS.has(word) && NUMBERS[word] === undefined) stems.add(stemOf(word));
  }
  return stems;
}

/** Endings of number and time go, so that "orders" and "order", "Brötchen" and "Brötchens" meet. */
function stemOf(word: string): string {
  const bare = word.replace(/(?:ing|ed|es|s|en|e)$/u, '');
  return bare.length < 3 ? word : bare;
}

function shared(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let count = 0;
  for (const stem of a) if (b.has(stem)) count += 1;
  return count;
}

/** The first of those with the highest score. */
function best<T>(items: readonly T[], score: (item: T) => number): { item: T | undefined; score: number } {
  let found: { item: T | undefined; score: number } = { item: undefined, score: 0 };
  for (const item of items) {
    const one = score(item);
    if (one > found.score) found = { item, score: one };
  }
  return found;
}
