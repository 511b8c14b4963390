import type { CollectField, FlowNode } from '@parley/shared/contracts/flow-definition';

type Input = Extract<FlowNode, { type: 'collect' }>['input'];

/** What a model is told to ask a caller for. */

const KINDS: Readonly<Record<CollectField['type'], string>> = {
  string: 'a text',
  number: 'a number',
  boolean: 'yes or no',
  date: 'a date',
  phone: 'a telephone number',
  email: 'an e-mail address',
  enum: 'one of some options',
  digits: 'digits',
};

export function askFor(field: CollectField, input: Input): string {
  return `Ask the caller now for ${described(field)}. Ask for nothing else.${howEntered(field, input)}`;
}

export function askAgainFor(field: CollectField, input: Input): string {
  const what = `What the caller has given was not understood as ${KINDS[field.type]}`;
  return `${what}. Ask once more, in other words, for ${described(field)}. Ask for nothing else.${howEntered(field, input)}`;
}

/** @param spoken what was understood so far */
export function askForRestOf(field: CollectField, spoken: string): string {
  return `The caller gives ${described(field)} in pieces, and so far has said ${spoken}. Ask for the rest in a word or two, and say nothing else.`;
}

/** What a model that reads a caller's words is told of a field. */
export function formOf({ name, type, description, options }: CollectField): string {
  const forms: Partial<Record<CollectField['type'], string>> = {
    boolean: 'true or false',
    date: 'a date, as YYYY-MM-DD',
    enum: `one of ${options.map((one) => JSON.stringify(one)).join(', ')}`,
  };
  const about = description === '' ? '' : `: ${description}`;
  return `${JSON.stringify(name)} (${forms[type] ?? KINDS[type]})${about}`;
}

function described({ name, type, description, options }: CollectField): string {
  const about = description === '' ? name.replaceAll('_', ' ') : description;
  const kind = type === 'enum' ? `one of: ${options.join(', ')}` : KINDS[type];
  return `${JSON.stringify(about)} (${kind})`;
}

function howEntered({ type, options }: CollectField, input: Input): string {
  if (input === 'speech') return '';
  const keys = {
    boolean: 'press 1 for yes and 2 for no',
    enum: options.map((one, i) => `press ${i + 1} for ${one}`).join(', '),
    date: 'enter eight figures, with the year in four',
  };
  const how = type in keys ? keys[type as keyof typeof keys] : 'enter it';
  return input === 'dtmf'
    ? ` They cannot say it: tell them to ${how} with the keys of their telephone.`
    : ` They may say it, or ${how} with the keys of their telephone.`;
}
