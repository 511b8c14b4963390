/** What is read here of Babel's paths through the syntax tree. */
interface TreePath {
  node: TreeNode;
  parent: TreeNode | null;
  parentPath: TreePath | null;
  /** Of the node in its parent. */
  key: string | number | null;
  /** Where it lies in one of its parent's lists. */
  listKey?: string | undefined;
}

interface TreeNode {
  type: string;
  name?: unknown;
  value?: unknown;
  operator?: unknown;
  callee?: TreeNode;
  object?: TreeNode;
  property?: TreeNode;
  id?: TreeNode;
  key?: TreeNode;
  properties?: readonly TreeNode[];
  quasis?: readonly { value: { raw: string } }[];
}

const LOGGER = /^(log|logger)$/;
const LEVEL = /^(trace|debug|info|warn|error|fatal)$/;
const ERROR = /Error$/;
const DESCRIPTION = /^(summary|description)$/;

/**
 * Finds texts that only people read, which no test is to repeat: a text of more than one word that is, alone, joined
 * to others or as one of two,
 * - an argument of `log.warn(…)` and its like;
 * - an argument of `new …Error(…)`: codes are one word;
 * - what `.describe(…)` is given;
 * - the `description` or `summary` in `.meta({…})`, of an operation (which has `responses`) or of an answer (by its status).
 */
export const readByPeople = {
  shouldIgnore(path: object): string | undefined {
    return isReadByPeople(path as TreePath) ? 'only people read it' : undefined;
  },
};

function isReadByPeople(text: TreePath): boolean {
  if (!hasWords(text.node)) return false;
  const whole = wholeOf(text);
  const { parent, parentPath } = whole;
  if (parent?.type === 'NewExpression') return ERROR.test(nameOf(parent.callee));
  if (parent?.type.endsWith('CallExpression') && whole.listKey === 'arguments')
    return isForPeople(parent.callee);
  return parent?.type === 'ObjectProperty' && whole.key === 'value' && isDescription(parentPath!);
}

function hasWords({ type, value, quasis = [] }: TreeNode): boolean {
  if (type === 'StringLiteral') return /\s/.test(String(value));
  return type === 'TemplateLiteral' && quasis.some((part) => /\s/.test(part.value.raw));
}

/** What the text is a part of, or one of two for. */
function wholeOf(part: TreePath): TreePath {
  const { parent, parentPath, key } = part;
  const isPart =
    parent?.type === 'TemplateLiteral' ||
    (parent?.type === 'BinaryExpression' && parent.operator === '+') ||
    (parent?.type === 'ConditionalExpression' && key !== 'test');
  return isPart ? wholeOf(parentPath!) : part;
}

function isForPeople(callee: TreeNode | undefined): boolean {
  const method = nameOf(callee?.property);
  return method === 'describe' || (LEVEL.test(method) && LOGGER.test(lastNameOf(callee?.object)));
}

function isDescription({ node, parent: object, parentPath }: TreePath): boolean {
  if (!DESCRIPTION.test(nameOf(node.key))) return false;
  const around = parentPath?.parent;
  if (around?.type === 'CallExpression' && nameOf(around.callee?.property) === 'meta') return true;
  if (around?.type === 'ObjectProperty' && around.key?.type === 'NumericLiteral') return true;
  return (object?.properties ?? []).some(({ key }) => nameOf(key) === 'responses');
}

/** `logger` of `this.#logger` */
function lastNameOf(node: TreeNode | undefined): string {
  return nameOf(node?.property ?? node);
}

function nameOf(node: TreeNode | undefined): string {
  const { name } = node?.type === 'PrivateName' ? node.id! : (node ?? {});
  return typeof name === 'string' ? name : '';
}
