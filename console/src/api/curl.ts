/** A request of the REST API, as the page made it. */
export interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** With its query: `/v1/sessions/…`. */
  path: string;
  body?: unknown;
  /** Fields of a form, in their order; files by their names. */
  form?: readonly FormField[];
}

export interface FormField {
  name: string;
  value: string;
  /** A part of a multipart body, a file of it by its name, or a field of a body that is URL-encoded. */
  kind: 'part' | 'file' | 'urlencoded';
}

/** The command that does the same from a shell. The key is a variable: a command is pasted and kept. */
export function curlOf({ method, path, body, form = [] }: ApiRequest, apiUrl: string): string {
  const parts = [
    'curl -s',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    quoted(`${apiUrl}${path}`),
    '-H "Authorization: Bearer $PARLEY_API_KEY"',
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(withoutSecrets(body)))}`]),
    ...form.map(optionOf),
  ];
  return parts.join(' \\\n  ');
}

/** In single quotes nothing means anything to a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function optionOf({ name, value, kind }: FormField): string {
  if (kind === 'urlencoded') return `--data-urlencode ${quoted(`${name}=${value}`)}`;
  // Without quotes parts of a file's name, and of a value, have a meaning of their own.
  if (kind === 'file') return `-F ${quoted(`${name}=@"${escaped(value)}"`)}`;
  return `--form-string ${quoted(`${name}=${value}`)}`;
}

/** Within the double quotes of a file's name. */
function escaped(name: string): string {
  return name.replace(/["\\]/g, (sign) => `\\${sign}`);
}

const SECRET = '<secret>';
/** All that stands below is secret: what signs in at a provider or a carrier, and headers of requests. */
const SECRET_PARTS = new Set(['credentials', 'values', 'headers']);
const SECRET_NAME = /secret|token$|password|api_key/;

/** A body as it can be shown and kept: as the server reads it, without what it shows nobody again. */
function withoutSecrets(value: unknown, isSecret = false, within = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(one, isSecret, within));
  if (typeof value === 'string') return isSecret && value !== '' ? SECRET : value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      withoutSecrets(
        one,
        isSecret ||
          SECRET_PARTS.has(name) ||
          SECRET_NAME.test(name) ||
          // The value of the header that a tool signs in with.
          (within === 'auth' && name === 'value'),
        name,
      ),
    ]),
  );
}
