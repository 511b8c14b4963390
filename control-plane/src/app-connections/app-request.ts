import type { ToolRequest } from '@parley/shared/tools/webhook-tool';
import { toText } from '@parley/shared/tools/tool-template';
import type { AppBodyTemplate, AppRequestTemplate } from './app-descriptor.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** `{name}` or `{name|text if it is missing}`. */
const PLACEHOLDER = /\{([a-z0-9_]+)(?:\|([^{}]*))?\}/g;
const ONLY_PLACEHOLDER = /^\{([a-z0-9_]+)(?:\|([^{}]*))?\}$/;

/**
 * The request that an action makes with these arguments, without the credential.
 * @param apiUrl what the path comes after
 * @returns undefined when an argument such as `..` would lead to another path
 */
export function fillRequest(
  apiUrl: string,
  template: AppRequestTemplate,
  args: Arguments,
): (Omit<ToolRequest, 'headers'> & { headers: Record<string, string> }) | undefined {
  let leaves = false;
  const path = template.path.replace(PLACEHOLDER, (_whole, name: string, fallback = '') => {
    const text = toText(valueOf(args, name)) || String(fallback);
    if (text === '' || text === '.' || text === '..') leaves = true;
    return encodeURIComponent(text);
  });
  if (leaves) return undefined;
  const url = new URL(apiUrl + path);
  for (const [name, value] of Object.entries(template.query ?? {})) {
    const filled = fillBody(value, args);
    if (filled !== undefined) url.searchParams.append(name, toText(filled));
  }
  const { method, headers } = template;
  if (method === 'GET' || method === 'DELETE') return { url: url.href, method, headers: { ...headers } };
  const body = template.body === undefined ? {} : (fillBody(template.body, args) ?? {});
  return {
    url: url.href,
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

/** @returns undefined for what is nothing without arguments that are missing */
function fillBody(template: AppBodyTemplate, args: Arguments): unknown {
  if (typeof template === 'string') return fillString(template, args);
  if (typeof template !== 'object') return template;
  if (Array.isArray(template)) {
    const items = template
      .map((item: AppBodyTemplate) => fillBody(item, args))
      .filter((item) => item !== undefined);
    return items.length > 0 ? items : undefined;
  }
  const fields = Object.entries(template)
    .map(([name, value]) => [name, fillBody(value as AppBodyTemplate, args)] as const)
    .filter(([, value]) => value !== undefined);
  return fields.length > 0 ? Object.fromEntries(fields) : undefined;
}

function fillString(template: string, args: Arguments): unknown {
  const whole = ONLY_PLACEHOLDER.exec(template);
  if (whole) return valueOf(args, whole[1]!) ?? whole[2];
  return template.replace(
    PLACEHOLDER,
    (_whole, name: string, fallback = '') => toText(valueOf(args, name)) || String(fallback),
  );
}

/** An empty text is no value: models write one for what they do not know. */
function valueOf(args: Arguments, name: string): unknown {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  return value === null || value === '' ? undefined : value;
}
