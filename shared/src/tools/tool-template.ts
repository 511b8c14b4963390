/** `{{name}}`, `{{path.to.field}}` or `{{name|text if empty}}`. */
const PLACEHOLDER = /\{\{\s*([\w-]+(?:\.[\w-]+)*)\s*(?:\|([^{}]*))?\}\}/g;

/**
 * What templates may name: a bare name is an argument, else a variable; `arguments.…`, `variables.…` and `session.…`
 * say which.
 */
export interface TemplateValues {
  arguments: Readonly<Record<string, unknown>>;
  variables: Readonly<Record<string, string>>;
  session: Readonly<Record<string, unknown>>;
}

/**
 * Fills a JSON template. Within a string literal of it a value is escaped as part of that string, elsewhere it is
 * written as JSON of its own type; what is missing is empty in the one place and null in the other.
 */
export function fillJson(template: string, values: TemplateValues): string {
  let inString = false;
  let from = 0;
  const scan = (text: string) => {
    for (let at = 0; at < text.length; at += 1) {
      if (text[at] === '\\' && inString) at += 1;
      else if (text[at] === '"') inString = !inString;
    }
  };
  return fill(template, (name, fallback, at) => {
    scan(template.slice(from, at));
    from = template.indexOf('}}', at) + 2;
    const value = lookUp(name, values) ?? fallback;
    return inString ? JSON.stringify(toText(value)).slice(1, -1) : JSON.stringify(value ?? null);
  });
}

/** Fills the path or query of an address, or a form: every value is percent-encoded. */
export function fillUrl(template: string, values: TemplateValues): string {
  return fill(template, (name, fallback) => encodeURIComponent(toText(lookUp(name, values) ?? fallback)));
}

/** Fills plain text. */
export function fillText(template: string, values: TemplateValues): string {
  return fill(template, (name, fallback) => toText(lookUp(name, values) ?? fallback));
}

/** Any value as the text of a variable; `undefined` and `null` are empty. */
export function toText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The value at `path`, such as `data.items[0].id` or `$.data.items.0.id`. Only own fields are found. */
export function valueAt(json: unknown, path: string): unknown {
  const keys = path
    .replace(/^\$\.?/, '')
    .split(/[.[\]]+/)
    .filter((key) => key !== '');
  let value = json;
  for (const key of keys) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

function fill(
  template: string,
  valueOf: (name: string, fallback: string | undefined, at: number) => string,
): string {
  return template.replace(
    PLACEHOLDER,
    (_whole: string, name: string, fallback: string | undefined, at: number) => valueOf(name, fallback, at),
  );
}

function lookUp(name: string, values: TemplateValues): unknown {
  const found = /^(arguments|variables|session)\./.test(name)
    ? valueAt(values, name)
    : (valueAt(values.arguments, name) ?? valueAt(values.variables, name));
  return found === null || found === '' ? undefined : found;
}
