import { request } from 'node:http';
import t from 'tap';
import { z } from 'zod';
import { agentConfigSchema } from '@parley/shared/contracts/agent-config';
import { ENDED_BY, FAILURE_REASONS, HANGUP_REASONS } from '@parley/shared/contracts/session-values';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { describeOperations } from '../src/http/openapi.ts';
import { SAMPLE_ORIGIN } from '../src/composition/sample.ts';
import { AGENT_CONFIG_TEXTS } from '../src/agents/agent-config-texts.ts';
import { agentCollection } from '../src/agents/agent-model.ts';
import { FLOW_TEXTS } from '../src/agents/flow-definition-texts.ts';
import { FIELD_TEXTS } from '../src/http/field-texts.ts';
import { PARAMETER_TEXTS } from '../src/http/parameter-texts.ts';
import { defineOperation, parameterNames } from '../src/http/operation.ts';
import type { Operation } from '../src/http/operation.ts';
import { contentTypesOf } from '../src/http/read-body.ts';
import { item } from '../src/tenancy/target.ts';
import { operations as all, unknownId } from './fixtures/described-features.ts';
import { openContractWorld } from './fixtures/contract-world.ts';
import { compilerOf, faultsOf } from './fixtures/status-recorder.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

/** Thousands of requests: on a busy machine they take longer than a test usually may. */
t.setTimeout(600_000);
const operations = all.filter((operation) => operation.described !== false);
const credentialed = operations.filter((operation) => typeof operation.access === 'object');

function pathOf(operation: Operation, ids: (name: string) => string): string {
  return operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(ids(name)));
}

interface Refused {
  code: string;
  detail: string | { loc: (string | number)[]; msg: string; type: string }[];
  request_id: string;
}

void t.test('the description', async (t) => {
  const document = describeOperations(operations, { url: 'http://127.0.0.1' });
  t.equal(document.openapi, '3.1.0');
  t.equal(document.info.version, '0.1.0');
  const text = JSON.stringify(document);
  const references = new Set(
    [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map((match) => match[1]!),
  );
  for (const name of references) t.ok(document.components?.schemas?.[name], `${name} is described`);
  t.same(
    credentialed.filter(
      (operation) =>
        operation.path.startsWith('/auth/') && typeof operation.access === 'object' && operation.access.key,
    ),
    [],
    'keys have no business under /auth',
  );
  const open = operations.filter(
    (operation) => operation.path.startsWith('/v1/') && typeof operation.access !== 'object',
  );
  t.same(
    open.map((operation) => operation.id),
    [],
    'every /v1 route takes a credential',
  );
});

/** The description as a client reads it. */
const whole = () =>
  (read ??= JSON.parse(JSON.stringify(describeOperations(all, { url: 'http://127.0.0.1' }))) as Document);
let read: Document | undefined;

interface Document {
  paths: Record<string, Record<string, DescribedOperation>>;
  components: { schemas: Record<string, object> };
}
interface DescribedOperation {
  operationId: string;
  summary: string;
  security: object[];
  parameters?: { name: string; description?: string; schema?: Schema }[];
  requestBody?: { content: Record<string, { schema: object; example?: unknown }> };
  responses: Record<string, { content?: Record<string, { schema: object; example?: unknown }> }>;
}

void t.test(
  'no route is missing in the description, and every JSON body has an example that fits',
  async (t) => {
    t.same(
      all.filter(({ described }) => described === false).map(({ id }) => id),
      ['getRoot', 'getDocumentation', 'getDocumentationAsset', 'syncUccComplaintsOfOther'],
      'all that is not in it: the page that shows it, the way there, and the refusal of carriers without a feed',
    );
    const document = whole();
    const text = JSON.stringify(document);
    t.notOk(text.includes('9007199254740991'), 'the bounds of JavaScript are no rule');
    const refused = document.paths['/v1/orgs/{org_id}']!['get']!.responses['401'];
    t.match(refused?.content?.['application/json']?.example, { code: 'unauthenticated' });
    t.match(document.components.schemas['AgentConfigPatch'], {
      properties: { silence: { anyOf: [{ properties: { max_reminders: {} } }, { type: 'null' }] } },
    });
    const transcript = document.paths['/v1/sessions/{session_id}/transcript']!['get']!.responses['200'];
    t.same(Object.keys(transcript?.content ?? {}), ['application/json', 'text/plain', 'text/vtt']);
    const found = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    t.same(found.sort(), operations.map(({ method, path }) => `${method} ${path}`).sort());

    const validatorOf = compilerOf(document.components);
    let examples = 0;
    for (const operation of Object.values(document.paths).flatMap((item) => Object.values(item))) {
      t.match(operation.summary, /\S/, operation.operationId);
      t.ok(Object.keys(operation.responses).some((status) => status.startsWith('2')));
      const bodies = [operation.requestBody ?? {}, ...Object.values(operation.responses)];
      for (const { content = {} } of bodies) {
        const media = content['application/json'];
        if (!media) continue;
        const fits = validatorOf(media.schema);
        if (!fits(media.example))
          t.fail(`${operation.operationId}: ${faultsOf(fits)} ${JSON.stringify(media.example)}`);
        examples++;
      }
    }
    t.comment(`${operations.length} operations, ${examples} examples`);
  },
);

void t.test('bodies have names, refusals fit their route, and replayed secrets may be null', (t) => {
  const document = whole();
  const resolved = (schema: object): Schema => {
    const name = (schema as Schema).$ref?.split('/').at(-1);
    return name === undefined ? (schema as Schema) : (document.components.schemas[name] as Schema);
  };
  for (const operation of operations) {
    const described = document.paths[operation.path]![operation.method.toLowerCase()]!;
    for (const { content = {} } of [described.requestBody ?? {}, ...Object.values(described.responses)]) {
      for (const [type, { schema }] of Object.entries(content))
        if (/json|form/.test(type) && !('$ref' in schema))
          t.fail(`${operation.id}: a body of ${type} has no name`);
    }
    const refusal = described.responses['422']?.content?.['application/json'];
    if (refusal) {
      const [detail] = (refusal.example as { detail: { loc: string[]; msg: string }[] }).detail;
      const [where, name] = detail!.loc;
      const fits = { body: operation.body !== undefined, path: operation.path.includes(`{${name}}`) };
      t.ok(where === 'query' || fits[where as 'body' | 'path'], `${operation.id}: ${JSON.stringify(detail)}`);
    }
    for (const secret of operation.idempotent?.secrets ?? []) {
      const answers = Object.entries(described.responses).filter(([status]) => status.startsWith('2'));
      const whole = resolved(answers[0]![1].content!['application/json']!.schema);
      const fields = [whole, ...(whole.anyOf ?? [])].flatMap(({ properties }) => properties?.[secret] ?? []);
      t.ok(fields.length > 0, `${operation.id}: ${secret}`);
      for (const field of fields)
        t.match(JSON.stringify(field), /"null"/, `${operation.id}: ${secret} may be null`);
    }
  }
  const example = (path: string, method: string) =>
    document.paths[path]![method]!.responses['422']!.content!['application/json']!.example;
  t.match(example('/v1/sessions/{session_id}', 'get'), { detail: [{ loc: ['path', 'session_id'] }] });
  t.match(example('/v1/me', 'get'), { detail: [{ loc: ['query', 'unheard_of'], type: 'extra_forbidden' }] });
  t.match(example('/v1/voices/{voice_id}/speak', 'post'), {
    detail: [{ loc: ['body', 'text'], type: 'missing' }],
  });
  t.end();
});

/** What the texts of fields with such names must say. */
const UNITS = [
  ['_ms', /millisecond/i],
  ['_seconds', /second/i],
  ['_days', /days/i],
  ['_characters', /character/i],
  ['_tokens', /token/i],
  ['_words', /words/i],
  ['_digits', /keys/i],
  ['_turns', /turns/i],
] as const;

void t.test('every field and parameter says what it is', (t) => {
  const document = whole();
  let fields = 0;
  const look = (schema: Schema, at: string): void => {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      fields++;
      const text = field.description ?? '';
      if (!/^\S[^]{3,}[.)]$/.test(text)) t.fail(`${at}.${name}: ${JSON.stringify(text)}`);
      look(field, `${at}.${name}`);
    }
    const { anyOf = [], oneOf = [], allOf = [], items, additionalProperties } = schema;
    for (const part of [...anyOf, ...oneOf, ...allOf, items, additionalProperties])
      if (typeof part === 'object') look(part, at);
  };
  for (const [name, schema] of Object.entries(document.components.schemas)) look(schema, name);
  for (const operation of Object.values(document.paths).flatMap((item) => Object.values(item))) {
    for (const { name, description, schema } of operation.parameters ?? [])
      if (!(description ?? schema?.description)) t.fail(`${operation.operationId}: ${name}`);
  }
  t.ok(fields > 2000, `${fields} fields`);
  // A text of nothing is one that nobody corrects.
  const said = JSON.stringify(document);
  for (const [key, text] of Object.entries({
    ...FIELD_TEXTS,
    ...PARAMETER_TEXTS,
    ...AGENT_CONFIG_TEXTS,
    ...FLOW_TEXTS,
  }))
    if (!said.includes(JSON.stringify(text).slice(0, -1))) t.fail(`${key} is said of nothing`);
  const ended = document.components.schemas['CallEndedEvent'];
  for (const reason of [...ENDED_BY, ...HANGUP_REASONS, ...FAILURE_REASONS])
    t.match(JSON.stringify(ended), `\`${reason}\``);
  // `config` and `flow_definition` of requests have a type, and their texts name units and defaults.
  t.match(document.components.schemas['CreateAgentRequest'], {
    properties: {
      config: { $ref: '#/components/schemas/AgentConfigPatch' },
      flow_definition: { anyOf: [{ $ref: '#/components/schemas/FlowDefinition' }, { type: 'null' }] },
    },
  });
  const { properties: flow = {} } = document.components.schemas['FlowDefinition'] as Schema;
  t.equal(flow['nodes']?.items?.oneOf?.length, 10);
  t.match(flow['nodes'], {
    items: {
      oneOf: [
        { properties: { overrides: { properties: { silence: { properties: { max_reminders: {} } } } } } },
      ],
    },
  });
  for (const name of ['AgentConfigPatch', 'Overrides', 'FlowDefinition', 'AgentConfig'])
    for (const [path, { description = '' }] of fieldsOf(document.components.schemas[name] as Schema, name)) {
      const unit = UNITS.find(([ending]) => path.endsWith(ending))?.[1];
      if (unit && !unit.test(description)) t.fail(`${path} does not say its unit: ${description}`);
    }
  const defaults = fieldsOf(agentConfigJson(), '');
  const patched = new Map(fieldsOf(document.components.schemas['AgentConfigPatch'] as Schema, ''));
  for (const [path, { default: value, properties }] of defaults) {
    const field = patched.get(path);
    // Items of lists are sent whole: their schema has the default. So have sections, whose settings say theirs.
    if (value === undefined || properties || field?.default !== undefined) continue;
    const said = field?.description ?? '';
    if (!said.includes(`Default: \`${JSON.stringify(value)}\`.`) && !said.includes('for new agents'))
      t.fail(`${path} does not say its default: ${said}`);
  }
  t.match(document.components.schemas['AgentConfigPatch'], {
    properties: {
      guardrails: {
        anyOf: [{ properties: { prompt_injection: { description: /Default: `false`\.$/ } } }],
      },
    },
  });
  t.end();
});

function agentConfigJson(): Schema {
  return z.toJSONSchema(agentConfigSchema, { io: 'input', unrepresentable: 'any' }) as Schema;
}

/** All fields of a schema, however deep, by their paths; items, variants and values of maps stand where their field does. */
function fieldsOf(schema: Schema, at: string): [string, Schema][] {
  const { properties = {}, anyOf = [], oneOf = [], allOf = [], items, additionalProperties } = schema;
  const parts = [...anyOf, ...oneOf, ...allOf, items, additionalProperties];
  return [
    ...Object.entries(properties).flatMap(([name, field]): [string, Schema][] => {
      const path = at === '' ? name : `${at}.${name}`;
      return [[path, field], ...fieldsOf(field, path)];
    }),
    ...parts.flatMap((part) => (typeof part === 'object' ? fieldsOf(part, at) : [])),
  ];
}

interface Schema {
  $ref?: string;
  description?: string;
  default?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  properties?: Record<string, Schema>;
}

/** Announces a body of that size and sends none of it. */
function announce(
  url: string,
  method: string,
  bytes: number,
  headers: Record<string, string>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method, headers: { ...headers, 'content-length': String(bytes) } },
      (answer) => {
        resolve(answer.statusCode ?? 0);
        sent.destroy();
      },
    );
    sent.on('error', reject);
    sent.flushHeaders();
  });
}

void t.test('declared refusals happen, and what happens is declared', async (t) => {
  const world = await openContractWorld();
  t.teardown(() => world[Symbol.asyncDispose]());
  const { cp, owner } = world;
  const document = (await cp.call<Document>('GET', '/openapi.json', { token: null })).body;
  const { ids: mine, key } = world.project;
  let cases = 0;
  for (const operation of operations) {
    const { access, id, method } = operation;
    const declared = document.paths[operation.path]![method.toLowerCase()]!.responses;
    const token = typeof access !== 'object' ? null : access.key ? key : owner.token;
    const path = pathOf(operation, (name) => mine[name] ?? unknownId(name));
    const exists = parameterNames(operation.path).every((name) => name in mine);
    const body = [operation.body ?? []].flat().find((one) => one.kind !== 'stream');
    const expect = (status: number, answered: number, why: string) => {
      cases++;
      if (answered !== status) t.fail(`${id}: ${answered}, not ${status} for ${why}`);
      if (!(status in declared)) t.fail(`${id} does not declare ${status}`);
    };
    // Signatures are looked at before anything else.
    if (access === 'carrier' || access === 'webhook') continue;
    if (body && exists) {
      const type = contentTypesOf(body)[0];
      const headers = {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        'content-type': type ?? 'application/octet-stream',
        origin: SAMPLE_ORIGIN,
      };
      const tooLarge = await announce(cp.url + path, method, body.limitBytes + 1, headers);
      expect(413, tooLarge, 'a body too large');
      if (type !== undefined) {
        const odd = { body: 'x', headers: { 'content-type': 'application/x-odd', origin: SAMPLE_ORIGIN } };
        expect(415, (await cp.call(method, path, { token, ...odd })).status, 'an odd content type');
      }
      if (body.kind === 'json') {
        const broken = { body: '{', headers: { 'content-type': 'application/json', origin: SAMPLE_ORIGIN } };
        expect(422, (await cp.call(method, path, { token, ...broken })).status, 'a broken body');
      }
    } else if (exists && typeof access === 'object' && method === 'GET') {
      expect(422, (await cp.call(method, `${path}?unheard_of=1`, { token })).status, 'an unknown parameter');
    }
  }
  t.comment(`${operations.length} operations, ${cases} refusals`);
  t.ok(cases > 150);
});

void t.test('every route has its limit, and says so in its headers', async (t) => {
  // Time stands still: with a new minute, one more request would be allowed.
  const clock = new ManualClock(Date.now());
  const cp = await openTestControlPlane({
    clock,
    env: { API_REQUESTS_PER_MINUTE: '1', ADDRESS_REQUESTS_PER_MINUTE: '100000' },
  });
  t.teardown(() => cp[Symbol.asyncDispose]());
  t.equal((await cp.call('GET', '/v1/me')).headers.get('ratelimit-remaining'), '0');
  let cases = 0;
  for (const operation of operations) {
    if (typeof operation.access !== 'object') continue;
    const { status, headers } = await cp.call(
      operation.method,
      pathOf(operation, () => 'x'),
    );
    cases++;
    if (status !== 429) t.fail(`${operation.id}: ${status}`);
    t.equal(headers.get('ratelimit-limit'), '1', operation.id);
    t.match(headers.get('ratelimit-reset'), /^\d+$/, operation.id);
    t.match(headers.get('retry-after'), /^\d+$/, operation.id);
  }
  t.comment(`${cases} operations refuse the second request`);

  const strict = await openTestControlPlane({ clock, env: { ADDRESS_REQUESTS_PER_MINUTE: '1' } });
  t.teardown(() => strict[Symbol.asyncDispose]());
  await strict.call('GET', '/openapi.json', { token: null });
  for (const operation of operations) {
    if (operation.access !== 'public' || operation.rateLimited === false) continue;
    const { status } = await strict.call(operation.method, pathOf(operation, unknownId), { token: null });
    if (status !== 429) t.fail(`${operation.id}: ${status}`);
  }
});

void t.test('every operation keeps to the order of checks', async (t) => {
  const world = await openContractWorld();
  t.teardown(() => world[Symbol.asyncDispose]());
  const { cp, owner } = world;
  const { ids: theirs } = await world.makeTenant();
  const { ids: mine, key: token } = world.project;
  const viewer = await cp.call<{ key: string }>('POST', `/v1/projects/${mine['project_id']}/api-keys`, {
    token,
    body: { name: 'viewer', role: 'viewer' },
  });

  void t.test('401 comes first, whatever the path and body', async (t) => {
    for (const operation of credentialed) {
      const path = pathOf(operation, () => 'x');
      const answer = await cp.call<Refused>(operation.method, path, { token: null });
      t.equal(answer.status, 401, operation.id);
      t.equal(answer.body.request_id, answer.headers.get('x-request-id'));
    }
  });

  void t.test('a key is refused where a user is required, whatever the path', async (t) => {
    const forUsers = credentialed.filter(
      (operation) => typeof operation.access === 'object' && !operation.access.key,
    );
    t.ok(forUsers.length > 5);
    for (const operation of forUsers) {
      const answer = await cp.call<Refused>(
        operation.method,
        pathOf(operation, () => 'x'),
      );
      t.equal(answer.status, 403, operation.id);
      t.equal(answer.body.code, 'user_required', operation.id);
    }
  });

  t.comment(`${credentialed.length} operations with a credential`);

  const forKeys = credentialed.filter(
    (operation) => typeof operation.access === 'object' && operation.access.key,
  );

  void t.test('malformed ids are 422 and name the parameter', async (t) => {
    for (const operation of forKeys) {
      const names = parameterNames(operation.path);
      if (names.length === 0) continue;
      const answer = await cp.call<Refused>(
        operation.method,
        pathOf(operation, () => '%'),
      );
      t.equal(answer.status, 422, operation.id);
      const locs = (answer.body.detail as { loc: string[] }[]).map((entry) => entry.loc);
      t.same(
        locs,
        names.map((name) => ['path', name]),
        operation.id,
      );
    }
  });

  void t.test('ids of nothing and ids of another tenant are the same 404', async (t) => {
    for (const operation of forKeys) {
      if (!operation.target) continue;
      const unknown = await cp.call<Refused>(operation.method, pathOf(operation, unknownId));
      t.equal(unknown.status, 404, `${operation.id}: unknown`);
      const foreign = await cp.call<Refused>(
        operation.method,
        pathOf(operation, (name) => theirs[name] ?? unknownId(name)),
      );
      t.equal(foreign.status, 404, `${operation.id}: foreign`);
      t.equal(foreign.body.detail, unknown.body.detail, `${operation.id}: told apart by nothing`);
    }
  });

  void t.test('what a path names is looked for before roles, query and body', async (t) => {
    let cases = 0;
    for (const operation of credentialed) {
      const names = parameterNames(operation.path);
      const { access } = operation;
      const token = typeof access === 'object' && access.key ? viewer.body.key : owner.token;
      // The ids before it are there; from one of nothing on, all are of nothing.
      for (const [missing, name] of names.entries()) {
        if (names.slice(0, missing).some((before) => !(before in mine))) continue;
        const path = pathOf(operation, (one) =>
          names.indexOf(one) < missing ? mine[one]! : one === 'key' ? 'no_such_flag' : unknownId(one),
        );
        // A version 1 there is.
        const answer = await cp.call<Refused>(
          operation.method,
          `${path.replace(/versions\/1\b/, 'versions/77')}?unheard_of=1&org_id=x`,
          {
            token,
            ...(operation.method !== 'GET' && {
              body: '{',
              headers: { 'content-type': 'application/json' },
            }),
          },
        );
        cases++;
        t.equal(answer.status, 404, `${operation.id}: no such {${name}}: ${JSON.stringify(answer.body)}`);
      }
    }
    t.comment(`${cases} ids of nothing`);
    t.ok(cases > 120);
    t.throws(
      () =>
        defineOperation({
          id: 'x',
          method: 'GET',
          path: '/v1/agents/{agent_id}/things/{thing_id}',
          tag: 'x',
          summary: 'x',
          access: { key: 'viewer' },
          target: item(agentCollection, 'agent_id'),
          responses: { 200: { description: 'x' } },
          handle: () => undefined,
        }),
      /no target answers for \{thing_id\}/,
    );
  });

  void t.test('a viewer is refused before its body is looked at', async (t) => {
    for (const operation of forKeys) {
      const { access } = operation;
      if (typeof access !== 'object' || access.key === 'viewer') continue;
      const path = pathOf(operation, (name) => mine[name] ?? unknownId(name));
      const answer = await cp.call<Refused>(operation.method, path, {
        token: viewer.body.key,
        ...(operation.method !== 'GET' && { body: '{' }),
      });
      if (answer.status === 404) continue; // Nothing of this kind was made.
      t.equal(answer.status, 403, `${operation.id}: ${JSON.stringify(answer.body)}`);
      t.equal(answer.body.code, 'role_too_low', operation.id);
    }
  });
});
