import { CommandError } from '../errors.ts';
import { operators } from './expression-operators.ts';
import { getField, isDocument, setField, type Bson, type BsonDocument } from '../bson/values.ts';

/** Values of variables by name without their `$$`, as given by a command's `let`. */
export type Variables = Readonly<Record<string, Bson | undefined>>;

/** Computes an expression of one document; undefined stands for a field that is not there. */
export type Evaluate = (document: BsonDocument) => Bson | undefined;

/** What an expression may refer to. */
export interface Names {
  variables: Variables;
  /** Without a document there is nothing a path could lead into. */
  withoutDocument?: boolean;
}

/**
 * Compiles an aggregation expression.
 * @throws CommandError for unknown operators and variables
 * @see https://www.mongodb.com/docs/manual/reference/operator/aggregation/
 */
export function compile(expression: Bson, names: Names): Evaluate {
  if (typeof expression === 'string')
    return expression.startsWith('$') ? compilePath(expression, names) : () => expression;
  if (Array.isArray(expression)) {
    const elements = expression.map((element) => compile(element, names));
    return (document) => elements.map((element) => element(document) ?? null);
  }
  if (!isDocument(expression)) return () => expression;
  const fields = Object.keys(expression);
  return fields[0]?.startsWith('$') ? compileOperator(expression, names) : compileFields(expression, names);
}

/**
 * Computes the values of a command's `let`, in order: later ones may refer to earlier ones, none to a document.
 * @throws CommandError 4890500 where one refers to a field
 */
export function evaluateVariables(definitions: BsonDocument): Variables {
  const variables: Record<string, Bson | undefined> = {};
  for (const [name, expression] of Object.entries(definitions))
    variables[name] = compile(expression, { variables, withoutDocument: true })({});
  return variables;
}

function compileOperator(expression: BsonDocument, names: Names): Evaluate {
  const [[name, operand], ...others] = Object.entries(expression) as [[string, Bson], ...unknown[]];
  if (others.length > 0) {
    throw new CommandError(
      15983,
      'an expression specification must contain exactly one field, the name of the expression.',
    );
  }
  const operator = Object.hasOwn(operators, name) ? operators[name] : undefined;
  if (!operator) throw new CommandError('InvalidPipelineOperator', `Unrecognized expression '${name}'`);
  return operator.compile(operand, names);
}

function compileFields(expression: BsonDocument, names: Names): Evaluate {
  const parts = Object.entries(expression).map(([field, value]) => {
    if (field.startsWith('$'))
      throw new CommandError(15983, 'an operator has to be the only field of its expression');
    if (field.includes('.')) throw new CommandError(16412, `FieldPath field names may not contain '.'.`);
    return [field, compile(value, names)] as const;
  });
  return (document) => {
    const result: BsonDocument = {};
    for (const [field, evaluate] of parts) {
      const value = evaluate(document);
      if (value !== undefined) setField(result, field, value);
    }
    return result;
  };
}

function compilePath(text: string, names: Names): Evaluate {
  if (!text.startsWith('$$')) return along(text.slice(1), wholeDocument(names));
  const dot = text.indexOf('.');
  const name = dot < 0 ? text.slice(2) : text.slice(2, dot);
  const start = compileVariable(name, names);
  return dot < 0 ? start : along(text.slice(dot + 1), start);
}

function compileVariable(name: string, names: Names): Evaluate {
  switch (name) {
    case 'ROOT':
    case 'CURRENT':
      return wholeDocument(names);
    case 'REMOVE':
      return () => undefined;
    case 'NOW': {
      const now = new Date();
      return () => now;
    }
  }
  const { variables } = names;
  if (!Object.hasOwn(variables, name)) throw new CommandError(17276, `Use of undefined variable: ${name}`);
  return () => variables[name];
}

function wholeDocument({ withoutDocument }: Names): Evaluate {
  if (withoutDocument) {
    throw new CommandError(
      4890500,
      'Command let Expression tried to access a field, but this is not allowed because command let expressions run before the query examines any documents.',
    );
  }
  return (document) => document;
}

function along(path: string, start: Evaluate): Evaluate {
  const parts = path.split('.');
  if (parts.some((part) => part === ''))
    throw new CommandError(15998, 'FieldPath field names may not be empty strings.');
  if (parts.some((part) => part.startsWith('$')))
    throw new CommandError(16410, `FieldPath field names may not start with '$'.`);
  return (document) => {
    let value = start(document);
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
