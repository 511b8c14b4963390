/** A request of the REST API, as the page made it. */
export interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** With its query: `/v1/sessions/…`. */
  path: string;
  body?: unknown;
}

/** The command that does the same from a shell. The key is a variable: a command is pasted and kept. */
export function curlOf({ method, path, body }: ApiRequest, apiUrl: string): string {
  const parts = [
    'curl -s',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    quoted(`${apiUrl}${path}`),
    '-H "Authorization: Bearer $PARLEY_API_KEY"',
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`]),
  ];
  return parts.join(' \\\n  ');
}

/** In single quotes nothing means anything to a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
