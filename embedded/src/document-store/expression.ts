import { CommandError } from './errors.ts';
import { operators } from './expression-operators.ts';
import { getField, isDocument, setField, type Bson, type BsonDocument } from './values.ts';

/** Values of variables by name, as given by `let`. */
export type Variables = Readonly<Record<string, Bson | undefined>>;

/** What an expression is computed in: the document, and variables by name without their `$$`. */
export interface Scope {
  root: Bson;
  variables: Variables;
}

export type Evaluate = (scope: Scope) => Bson | undefined;

/** Names that may be used, and values of those known already. */
export interface Names {
  constants: Variables;
  local: ReadonlySet<string>;
}

export interface Expression {
  evaluate: Evaluate;
  forDocument(document: BsonDocument): Bson | undefined;
}

export function scopeFor(document: Bson): Scope {
  return { root: document, variables: {} };
}

/**
 * Compiles an aggregation expression.
 * @param variables known from outside, as by a command's `let`
 * @throws CommandError for unknown operators and variables
 * @see https://www.mongodb.com/docs/manual/reference/operator/aggregation/
 */
export function compileExpression(expression: Bson, variables: Variables = {}): Expression {
  const evaluate = compile(expression, { constants: variables, local: new Set() });
  return { evaluate, forDocument: (document) => evaluate({ root: document, variables: {} }) };
}

export function compile(expression: Bson, names: Names): Evaluate {
  if (typeof expression === 'string')
    return expression.startsWith('$') ? compilePath(expression, names) : () => expression;
  if (Array.isArray(expression)) {
    const elements = expression.map((element) => compile(element, names));
    return (scope) => elements.map((element) => element(scope) ?? null);
  }
  if (!isDocument(expression)) return () => expression;
  const fields = Object.keys(expression);
  const first = fields[0];
  if (first?.startsWith('$')) {
    if (fields.length > 1) {
      throw new CommandError(
        15983,
        'an expression specification must contain exactly one field, the name of the expression.',
      );
    }
    const operator = Object.hasOwn(operators, first) ? operators[first] : undefined;
    if (!operator) throw new CommandError(168, `Unrecognized expression '${first}'`);
    return operator(expression[first]!, names);
  }
  const parts = fields.map((field) => {
    if (field.startsWith('$'))
      throw new CommandError(15983, 'an operator has to be the only field of its expression');
    if (field.includes('.')) throw new CommandError(16412, `FieldPath field names may not contain '.'.`);
    return [field, compile(expression[field]!, names)] as const;
  });
  return (scope) => {
    const document: BsonDocument = {};
    for (const [field, evaluate] of parts) {
      const value = evaluate(scope);
      if (value !== undefined) setField(document, field, value);
    }
    return document;
  };
}

function compilePath(text: string, names: Names): Evaluate {
  if (!text.startsWith('$$')) return along(text.slice(1), (scope) => scope.root);
  const dot = text.indexOf('.');
  const name = dot < 0 ? text.slice(2) : text.slice(2, dot);
  const rest = dot < 0 ? '' : text.slice(dot + 1);
  const start = compileVariable(name, names);
  return dot < 0 ? start : along(rest, start);
}

function compileVariable(name: string, names: Names): Evaluate {
  if (names.local.has(name)) return (scope) => scope.variables[name];
  switch (name) {
    case 'ROOT':
    case 'CURRENT':
      return (scope) => scope.root;
    case 'REMOVE':
      return () => undefined;
    case 'NOW': {
      const now = new Date();
      return () => now;
    }
  }
  if (!Object.hasOwn(names.constants, name))
    throw new CommandError(17276, `Use of undefined variable: ${name}`);
  return () => names.constants[name];
}

function along(path: string, start: Evaluate): Evaluate {
  const parts = path.split('.');
  if (parts.some((part) => part === ''))
    throw new CommandError(15998, 'FieldPath field names may not be empty strings.');
  if (parts.some((part) => part.startsWith('$')))
    throw new CommandError(16410, `FieldPath field names may not start with '$'.`);
  if (parts.length === 1) {
    const part = parts[0]!;
    return (scope) => step(start(scope), part);
  }
  return (scope) => {
    let value = start(scope);
    for (const part of parts) {
      value = step(value, part);
      if (value === undefined) return undefined;
    }
    return value;
  };
}

/** A field of a document, or of each document in an array; positions are no fields here. */
function step(value: Bson | undefined, field: string): Bson | undefined {
  if (isDocument(value)) return getField(value, field);
  if (!Array.isArray(value)) return undefined;
  const values: Bson[] = [];
  for (const element of value) {
    const inner = step(element, field);
    if (inner !== undefined) values.push(inner);
  }
  return values;
}
