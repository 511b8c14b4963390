import t from 'tap';
import { isLinearPattern, jsonSchemaProblem } from './json-schema.ts';

void t.test('schemas of tool arguments', async (t) => {
  const order = {
    type: 'object',
    properties: { id: { type: 'string', pattern: '^[A-Z]{2}\\d+$' } },
    required: ['id'],
  };
  t.equal(jsonSchemaProblem(order), null);
  t.equal(
    jsonSchemaProblem({
      type: 'object',
      properties: { pattern: { type: 'string' }, $ref: { type: 'string' } },
    }),
    null,
  );
  t.match(jsonSchemaProblem({ type: 'string' }), /type object/);
  t.match(
    jsonSchemaProblem({ type: 'object', properties: { a: { $ref: 'https://example.com/x' } } }),
    /other documents/,
  );
  t.match(
    jsonSchemaProblem({ type: 'object', properties: { a: { type: 'strin' } } }),
    /not a valid JSON Schema/,
  );
  t.match(jsonSchemaProblem({ type: 'object', properties: { a: { pattern: '(a+)+$' } } }), /too expensive/);
  t.match(jsonSchemaProblem({ type: 'object', patternProperties: { '^(x|x)*$': {} } }), /too expensive/);
  t.match(jsonSchemaProblem({ type: 'object', description: 'x'.repeat(70_000) }), /at most/);
});

void t.test('patterns that may take long are refused', async (t) => {
  for (const pattern of ['^\\d{4}$', '^[a-z]+$', 'a|b', '^\\+[1-9]\\d{6,14}$', '^[\\w.]+@x$']) {
    t.ok(isLinearPattern(pattern), pattern);
  }
  for (const pattern of ['(a*)*', '(a|a)+', 'a*a*', '(x)\\1', '(?=a)b', '[', '.*.*=', '(ab){2,}', '\\k<n>']) {
    t.notOk(isLinearPattern(pattern), pattern);
  }
});
