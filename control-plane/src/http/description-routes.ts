import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import { NotFoundError } from '@parley/shared/errors/app-error';
import { defineOperation, HttpResponse } from './operation.ts';
import type { Operation } from './operation.ts';

/** Everything from this server, nothing from elsewhere; Swagger UI sets styles on its elements. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'";

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Parley API</title>
    <link rel="icon" href="/docs/favicon-32x32.png" />
    <link rel="stylesheet" href="/docs/swagger-ui.css" />
    <link rel="stylesheet" href="/docs/page.css" />
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

/** Swagger UI puts a link into the button that opens an operation, which no keyboard reaches, and a choice without a name. */
const START = `window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  persistAuthorization: false,
  plugins: [{ wrapComponents: { DeepLink: () => ({ text }) => text } }],
  onComplete: () => document.getElementById('servers')?.setAttribute('aria-label', 'Server'),
});
`;

/** Swagger UI's pale texts as dark as they need be to be read (WCAG 2.2, 1.4.3). */
const STYLE = `.swagger-ui .info .title small { background: #5d6471; }
.swagger-ui .info .title small.version-stamp { background: #4d6c02; }
.swagger-ui a, .swagger-ui a.link, .swagger-ui .info a, .swagger-ui .info .base-url, .swagger-ui .info .url { color: #1f5fae; }
.swagger-ui .btn.authorize, .swagger-ui .btn.authorize span { color: #1d7349; }
.swagger-ui .opblock .opblock-summary-method { background: #50575f; }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1f5fae; }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #1d7349; }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: #8a5200; }
.swagger-ui .opblock.opblock-patch .opblock-summary-method { background: #1b7566; }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e; }
.swagger-ui .parameter__in, .swagger-ui .prop-format, .swagger-ui .json-schema-2020-12-expand-deep-button, .swagger-ui .json-schema-2020-12__attribute--muted { color: #5a5a5a; }
`;

const TEXTS: Record<string, { type: string; text: string }> = {
  'start.js': { type: 'text/javascript; charset=utf-8', text: START },
  'page.css': { type: 'text/css; charset=utf-8', text: STYLE },
};

const ASSETS: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

/**
 * `/openapi.json` and the page that shows it, without any foreign address.
 * @param consoleUrl where people go who open `/`; the page of the description when there is no console
 */
export function descriptionRoutes({
  describe,
  consoleUrl,
}: {
  describe: () => unknown;
  consoleUrl: string | undefined;
}): Operation[] {
  let document: HttpResponse<Buffer> | undefined;
  return [
    defineOperation({
      id: 'getDescription',
      method: 'GET',
      path: '/openapi.json',
      tag: 'Description',
      summary: 'Get this description (OpenAPI 3.1)',
      access: 'public',
      requestHeaders: {
        'If-None-Match': z.string().optional().meta({ description: 'The `ETag` of a copy that you have.' }),
      },
      responses: {
        200: {
          description: 'OpenAPI 3.1',
          schema: z.record(z.string(), z.unknown()).meta({ id: 'OpenApiDocument' }),
        },
        304: { description: 'Your copy is the newest' },
      },
      handle: () => (document ??= packed(JSON.stringify(describe()))),
    }),
    defineOperation({
      id: 'getRoot',
      method: 'GET',
      path: '/',
      tag: 'Description',
      summary: 'Lead people to a page; programs find nothing here',
      access: 'public',
      described: false,
      responses: { 302: { description: 'The console, or the description' } },
      handle({ headers }) {
        if (!/\btext\/html\b/.test(headers.accept ?? '')) throw new NotFoundError();
        return new HttpResponse(302, undefined, { Location: consoleUrl ?? '/docs', Vary: 'Accept' });
      },
    }),
    defineOperation({
      id: 'getDocumentation',
      method: 'GET',
      path: '/docs',
      tag: 'Description',
      summary: 'Browse this description',
      access: 'public',
      described: false,
      responses: { 200: { description: 'HTML', contentType: 'text/html' } },
      handle: () =>
        new HttpResponse(200, PAGE, {
          'Content-Type': 'text/html; charset=utf-8',
          'Content-Security-Policy': PAGE_POLICY,
        }),
    }),
    defineOperation({
      id: 'getDocumentationAsset',
      method: 'GET',
      path: '/docs/{file}',
      tag: 'Description',
      summary: 'Get a file of the page',
      access: 'public',
      described: false,
      rateLimited: false,
      params: { file: z.string() },
      responses: { 200: { description: 'A file' } },
      async handle({ params }) {
        const own = Object.hasOwn(TEXTS, params.file) ? TEXTS[params.file] : undefined;
        if (own) return new HttpResponse(200, own.text, { 'Content-Type': own.type });
        const type = Object.hasOwn(ASSETS, params.file) ? ASSETS[params.file] : undefined;
        if (type === undefined) throw new NotFoundError();
        const bytes = await readFile(new URL(import.meta.resolve(`swagger-ui-dist/${params.file}`)));
        return new HttpResponse(200, bytes, {
          'Content-Type': type,
          'Cache-Control': 'public, max-age=3600',
        });
      },
    }),
  ];
}

/** JSON as it goes out, made once. Its tag is weak: it stands for both forms. */
function packed(json: string): HttpResponse<Buffer> {
  const plain = Buffer.from(json);
  const digest = createHash('sha256').update(plain).digest('base64url').slice(0, 22);
  const headers = {
    ETag: `W/"${digest}"`,
    'Content-Type': 'application/json',
    'Cache-Control': 'no-cache',
    'Access-Control-Allow-Origin': '*',
  };
  return new HttpResponse(200, plain, headers, gzipSync(plain));
}
