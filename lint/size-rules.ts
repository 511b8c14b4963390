import { ESLintUtils, type TSESTree } from '@typescript-eslint/utils';

// Bounds on what one class may hold, as ESLint rules. A class past them does more than one thing: the mend is a part
// with a job and a name of its own, not a bag that hides what was counted.

const createRule = ESLintUtils.RuleCreator.withoutDocs;

type ClassNode = TSESTree.ClassDeclaration | TSESTree.ClassExpression;

const nameOf = (node: ClassNode) => node.id?.name ?? 'The class';

/** Methods and accessors, static ones too. Overload signatures and the constructor are not counted. */
function countMethods(node: ClassNode): number {
  return node.body.body.filter(
    (member) =>
      member.type === 'MethodDefinition' &&
      member.kind !== 'constructor' &&
      member.value.type === 'FunctionExpression',
  ).length;
}

/** Fields of an instance that may be assigned after construction. */
function countMutableFields(node: ClassNode): number {
  return node.body.body.filter(
    (member) =>
      (member.type === 'PropertyDefinition' || member.type === 'AccessorProperty') &&
      !member.static &&
      !member.readonly,
  ).length;
}

/** Reports a class with too many methods or too many fields that change. */
export const classSize = createRule({
  meta: {
    type: 'suggestion',
    schema: [
      {
        type: 'object',
        properties: { methods: { type: 'integer' }, mutableFields: { type: 'integer' } },
        required: ['methods', 'mutableFields'],
        additionalProperties: false,
      },
    ],
    messages: {
      methods: '{{name}} has {{count}} methods, {{max}} are allowed: give a part of it a class of its own.',
      mutableFields:
        '{{name}} has {{count}} fields that change, {{max}} are allowed: make what can be derived readonly or derived, and give the rest an owner each.',
    },
  },
  defaultOptions: [{ methods: 25, mutableFields: 12 }],
  create(context, [limits]) {
    const check = (node: ClassNode) => {
      const counts = { methods: countMethods(node), mutableFields: countMutableFields(node) };
      for (const kind of ['methods', 'mutableFields'] as const) {
        const count = counts[kind];
        const max = limits[kind];
        if (count > max)
          context.report({
            node: node.id ?? node,
            messageId: kind,
            data: { name: nameOf(node), count, max },
          });
      }
    };
    return { ClassDeclaration: check, ClassExpression: check };
  },
});

/**
 * Reports a constructor with too many dependencies. Each parameter is one; a parameter typed by an object literal, or
 * by a type whose name ends in `Deps`, is as many as it has properties.
 */
export const constructorDependencies = createRule({
  meta: {
    type: 'suggestion',
    schema: [
      {
        type: 'object',
        properties: { max: { type: 'integer' } },
        required: ['max'],
        additionalProperties: false,
      },
    ],
    messages: {
      tooMany:
        'This constructor takes {{count}} dependencies, {{max}} are allowed: the class has more than one job.',
    },
  },
  defaultOptions: [{ max: 8 }],
  create(context, [{ max }]) {
    const services = ESLintUtils.getParserServices(context);
    const countOf = (parameter: TSESTree.Parameter): number => {
      const target = parameter.type === 'AssignmentPattern' ? parameter.left : parameter;
      const annotation = 'typeAnnotation' in target ? target.typeAnnotation?.typeAnnotation : undefined;
      if (annotation && isBag(annotation))
        return services.getTypeAtLocation(annotation).getProperties().length;
      return 1;
    };
    return {
      "MethodDefinition[kind='constructor']"(node: TSESTree.MethodDefinition) {
        const count = node.value.params.reduce((sum, parameter) => sum + countOf(parameter), 0);
        if (count > max) context.report({ node: node.key, messageId: 'tooMany', data: { count, max } });
      },
    };
  },
});

/** Whether a parameter of this type holds several dependencies: a literal, or a type named `…Deps`, alone or in `&`. */
function isBag(annotation: TSESTree.TypeNode): boolean {
  if (annotation.type === 'TSTypeLiteral') return true;
  if (annotation.type === 'TSIntersectionType') return annotation.types.some(isBag);
  return (
    annotation.type === 'TSTypeReference' &&
    annotation.typeName.type === 'Identifier' &&
    (annotation.typeName.name.endsWith('Deps') ||
      ['Readonly', 'Pick', 'Omit'].includes(annotation.typeName.name))
  );
}
