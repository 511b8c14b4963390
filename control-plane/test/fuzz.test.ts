import t from 'tap';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { operations as all } from './fixtures/described-features.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? (LONG ? 20_000 : 3000));
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
  content: Record<string, { example?: unknown }>;
}

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

void t.test(`${REQUESTS} odd requests are answered, and none of them is our fault`, async (t) => {
  const cp = await openTestControlPlane();
  t.teardown(() => cp[Symbol.asyncDispose]());
  const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 1_000_000);
  t.comment(`FUZZ_SEED=${seed}`);
  const random = randomFrom(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const { org, project } = cp.first;
  const agent = await cp.call<{ id: string }>('POST', `/v1/orgs/${org._id}/projects/${project._id}/agents`, {
    body: { name: 'Fuzzed' },
  });
  const ids: Record<string, string> = { org_id: org._id, project_id: project._id, agent_id: agent.body.id };
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

  // Bodies that are nearly right get further than noise does. What would call somebody gets noise alone.
  const document = (
    await cp.call<{ paths: Record<string, Record<string, { requestBody?: Described }>> }>(
      'GET',
      '/openapi.json',
    )
  ).body;
  const calls = /verify|test|speak|preview|clone|phone-numbers/;
  function nearlyRight(path: string, method: string): object | undefined {
    const content = document.paths[path]?.[method.toLowerCase()]?.requestBody?.content;
    const example = content?.['application/json']?.example;
    if (calls.test(path) || typeof example !== 'object' || example === null) return undefined;
    const body = structuredClone(example) as Record<string, unknown>;
    const keys = Object.keys(body);
    for (let changes = Math.floor(random() * 3); changes > 0; changes--) {
      if (random() < 0.3) delete body[pick(keys)];
      else body[pick(keys)] = value(1);
    }
    return body;
  }

  const unhandled: unknown[] = [];
  const noteUnhandled = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', noteUnhandled);
  t.teardown(() => process.off('unhandledRejection', noteUnhandled));

  const covered = new Set<string>();
  const bad: string[] = [];
  const counts = new Map<number, number>();
  async function one(): Promise<void> {
    const operation = pick(operations);
    const path = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => {
      const known = ids[name];
      return known !== undefined && random() < 0.8
        ? known
        : encodeURIComponent(pick(WORDS).replaceAll('\ud800', '')) || 'x';
    });
    const query =
      random() < 0.3
        ? `?${pick([...FIELDS, 'limit', 'sort', 'q', 'offset'])}=${encodeURIComponent(pick(WORDS).replaceAll('\ud800', ''))}`
        : '';
    const body =
      operation.method === 'GET'
        ? undefined
        : random() < 0.1
          ? pick(['{', '[]', '"x"', '', 'null'])
          : random() < 0.5
            ? (nearlyRight(operation.path, operation.method) ?? object(0))
            : object(0);
    const type = pick([
      'application/json',
      'application/json',
      'application/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/plain',
    ]);
    const answer = await cp.call<{ detail?: unknown }>(operation.method, path + query, {
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      headers: { 'content-type': type },
    });
    counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
    covered.add(operation.id);
    const expected = answer.status < 400 || answer.body.detail !== undefined;
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
  t.same(bad, []);
  t.same(unhandled, []);
  t.equal((await cp.call('GET', '/v1/me')).status, 200);
});
