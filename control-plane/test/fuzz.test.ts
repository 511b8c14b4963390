import { randomUUID } from 'node:crypto';
import t from 'tap';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { operations as all } from './fixtures/described-features.ts';
import { openContractWorld } from './fixtures/contract-world.ts';
import { soundValues, type DescribedSchema } from './fixtures/sound-values.ts';

const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? (LONG ? 20_000 : 350));
const AT_ONCE = 16;

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

interface Described {
  'x-required-role'?: { api_key?: string; user?: string };
  requestBody?: { content: Record<string, { schema: DescribedSchema; example?: unknown }> };
}
interface Description {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, DescribedSchema> };
}

/** Operations whose handler calls somebody, or ends what the other requests need: they get noise alone. */
const NOISE_ALONE =
  /verify|test|speak|preview|clone|phone-numbers|rate-limit|password|\/auth\/|members|mcp|deprecate|archive/;

const WORDS = [
  '',
  'x',
  'null',
  '{{name}}',
  '%00',
  '\u0000',
  '\ud800',
  '$where',
  '__proto__',
  'a.b',
  '../..',
  '🙂'.repeat(40),
  'x'.repeat(3000),
  'https://example.com',
  'http://169.254.169.254/',
  '2026-01-31T09:30:00Z',
  '-1',
  '1e999',
];
const FIELDS = [
  'name',
  'config',
  'role',
  'tool_id',
  'agent_id',
  'project_id',
  'org_id',
  'webhook',
  'parameters',
  'type',
  'variables',
  'channel',
  'provider',
  'expires_at',
  'flow_definition',
  'limit',
  'enabled',
  'prompt',
  '$set',
  '__proto__',
  'constructor',
];

t.setTimeout(LONG ? 3_600_000 : 600_000);
void t.test(`${REQUESTS} odd requests are answered, and none of them is our fault`, async (t) => {
  const world = await openContractWorld();
  t.teardown(() => world[Symbol.asyncDispose]());
  const { cp, owner, project } = world;
  const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 1_000_000);
  t.comment(`FUZZ_SEED=${seed}`);
  const random = randomFrom(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const { ids } = project;
  const operations = all.filter((operation) => operation.id !== 'getDescription');

  function value(depth: number): unknown {
    const roll = random();
    if (roll < 0.35) return pick(WORDS);
    if (roll < 0.5) return pick([0, -1, 1.5, 1e21, 2 ** 53, 7]);
    if (roll < 0.6) return pick([true, false, null]);
    if (roll < 0.7) return pick(Object.values(ids));
    if (depth > 4) return {};
    if (roll < 0.8) return Array.from({ length: Math.floor(random() * 4) }, () => value(depth + 1));
    return object(depth + 1);
  }
  function object(depth: number): object {
    return Object.fromEntries(
      Array.from({ length: Math.floor(random() * 5) }, () => [pick([...FIELDS, ...WORDS]), value(depth)]),
    );
  }

  const document = (await cp.call<Description>('GET', '/openapi.json')).body;
  const sound = soundValues({
    schemas: document.components.schemas,
    random,
    known: ids,
    url: world.tenantUrl,
  });
  const described = ({ path, method }: { path: string; method: string }) =>
    document.paths[path]?.[method.toLowerCase()];
  function soundBody(operation: { path: string; method: string }): object | undefined {
    const content = described(operation)?.requestBody?.content['application/json'];
    if (!content) return undefined;
    const body = sound(content.schema, content.example);
    return typeof body === 'object' && body !== null ? body : undefined;
  }
  /** A body that is nearly right gets further than noise does. */
  function spoilt(body: Record<string, unknown>): object {
    const keys = Object.keys(body);
    if (random() < 0.3 && keys.length > 0) delete body[pick(keys)];
    else body[pick([...keys, ...FIELDS])] = value(1);
    return body;
  }

  const unhandled: unknown[] = [];
  const noteUnhandled = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', noteUnhandled);
  t.teardown(() => process.off('unhandledRejection', noteUnhandled));

  const covered = new Set<string>();
  const bad: string[] = [];
  const counts = new Map<number, number>();
  const bodies = { sent: 0, entered: 0 };
  let entered = 0;
  async function one(): Promise<void> {
    const operation = pick(operations);
    // What deletes a record leaves the others nothing to work with.
    const mayBeSound = !NOISE_ALONE.test(operation.path) && operation.method !== 'DELETE';
    const isSound = mayBeSound && random() < 0.85;
    const path = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => {
      const known = ids[name];
      return known !== undefined && (isSound || (operation.method !== 'DELETE' && random() < 0.8))
        ? known
        : encodeURIComponent(pick(WORDS).replaceAll('\ud800', '')) || 'x';
    });
    const query =
      !isSound && random() < 0.5
        ? `?${pick([...FIELDS, 'limit', 'sort', 'q', 'offset'])}=${encodeURIComponent(pick(WORDS).replaceAll('\ud800', ''))}`
        : '';
    const made = operation.method === 'GET' ? undefined : soundBody(operation);
    const body =
      operation.method === 'GET'
        ? undefined
        : isSound
          ? made
          : random() < 0.2
            ? pick(['{', '[]', '"x"', '', 'null'])
            : mayBeSound && made && random() < 0.5
              ? spoilt(made as Record<string, unknown>)
              : object(0);
    const type = isSound
      ? 'application/json'
      : pick([
          'application/json',
          'application/json',
          'application/json',
          'application/x-www-form-urlencoded',
          'multipart/form-data; boundary=x',
          'text/plain',
        ]);
    const roles = described(operation)?.['x-required-role'];
    const answer = await cp.call<{ detail?: unknown }>(operation.method, path + query, {
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      token: roles && roles.api_key === undefined ? owner.token : project.key,
      headers: { 'content-type': type, ...(isSound && { 'idempotency-key': randomUUID() }) },
    });
    // A conflict is said by a handler; a 404 mostly before it, so it does not count.
    const isEntered = answer.status < 400 || answer.status === 409;
    if (isEntered) entered++;
    if (body !== undefined) bodies.sent++;
    if (body !== undefined && isEntered) bodies.entered++;
    counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
    covered.add(operation.id);
    // A page for a person is an answer that the operation describes itself.
    const isPage = operation.responses[answer.status]?.contentType === 'text/html';
    const expected = answer.status < 400 || isPage || answer.body.detail !== undefined;
    if (answer.status >= 500 || !expected) {
      bad.push(
        `${answer.status} ${operation.method} ${path}${query} ${type} ${JSON.stringify(body)}`.slice(0, 2000),
      );
    }
  }
  let left = REQUESTS;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) await one();
    }),
  );
  const answered = JSON.stringify(Object.fromEntries(counts));
  t.comment(`${covered.size} of ${operations.length} operations, ${REQUESTS} requests: ${answered}`);
  t.comment(`handlers were entered by ${entered}, of ${bodies.sent} with a body by ${bodies.entered}`);
  t.ok(entered >= REQUESTS / 3, 'a third of all requests gets past validation');
  t.ok(bodies.entered >= bodies.sent / 5, 'and a fifth of those with a body');
  t.same(bad, []);
  t.same(unhandled, []);
  t.equal((await cp.call('GET', '/v1/me', { token: project.key })).status, 200);
});
