import { RuleTester } from 'eslint';
import path from 'node:path';
import t from 'tap';
import tseslint from 'typescript-eslint';
import ts from 'typescript';
import { classSize, constructorDependencies } from './size-rules.ts';

// Run by ESLint's own tester; it describes itself with the functions that it is given.
const cases: [string, () => void][] = [];
Object.assign(RuleTester, {
  describe: (_title: string, body: () => void) => body(),
  it: (title: string, body: () => void) => cases.push([title, body]),
});

const parser = tseslint.parser as never;
const tester = new RuleTester({ languageOptions: { parser } });
const asRule = (rule: unknown) => rule as Parameters<RuleTester['run']>[1];

const methods = (count: number) => Array.from({ length: count }, (_, index) => `m${index}() {}`).join('\n');
const fields = (count: number, modifier = '') =>
  Array.from({ length: count }, (_, index) => `${modifier} f${index} = 0;`).join('\n');
const filename = path.resolve('sample.ts');

/** What the parser needs to tell the types in `code`, which is all there is: no library of types is read. */
function typed(code: string) {
  const options: ts.CompilerOptions = { noLib: true, types: [], strict: true };
  const host = ts.createCompilerHost(options);
  host.getSourceFile = (name, version) =>
    name === filename ? ts.createSourceFile(name, code, version, true) : undefined;
  const programs = [ts.createProgram([filename], options, host)];
  return { code, filename, languageOptions: { parser, parserOptions: { programs } } };
}

tester.run('class-size', asRule(classSize), {
  valid: [
    { name: 'as many methods as allowed', filename, code: `class A { constructor() {} ${methods(25)} }` },
    {
      name: 'overloads count once',
      filename,
      code: `class A { ${methods(24)} a(x: 1): 1; a(x: 2): 2; a(x: 1 | 2) { return x; } }`,
    },
    {
      name: 'readonly and static fields do not change',
      filename,
      code: `class A { ${fields(9)} ${fields(9, 'readonly')} ${fields(9, 'static')} }`,
    },
  ],
  invalid: [
    {
      name: 'a method too many',
      filename,
      code: `class A { ${methods(25)} get one() { return 1; } }`,
      errors: [{ messageId: 'methods' }],
    },
    {
      name: 'a static method too many',
      filename,
      code: `const A = class { ${methods(25)} static one() {} }`,
      errors: [{ messageId: 'methods' }],
    },
    {
      name: 'a field too many',
      filename,
      code: `class A { ${fields(12)} #one = 1; }`,
      errors: [{ messageId: 'mutableFields' }],
    },
  ],
});

/** TypeScript's own, which a sample without its library lacks. */
const PICK = 'type Pick<T, K extends keyof T> = { [P in K]: T[P] };';
const bag = (count: number) => Array.from({ length: count }, (_, index) => `d${index}: number;`).join(' ');
tester.run('constructor-dependencies', asRule(constructorDependencies), {
  valid: [
    { name: 'a literal of eight', ...typed(`class A { constructor(deps: { ${bag(8)} }) {} }`) },
    {
      name: 'a value with many properties is one',
      ...typed(`interface Config { ${bag(20)} } class A { constructor(config: Config, clock: Date) {} }`),
    },
  ],
  invalid: [
    {
      name: 'a literal of nine',
      ...typed(`class A { constructor({ d0 }: { ${bag(9)} }) {} }`),
      errors: [{ messageId: 'tooMany' }],
    },
    {
      name: 'inherited ones too',
      ...typed(
        `interface B { ${bag(5)} } interface ADeps extends B { e: 1; f: 1; g: 1; h: 1 } class A { constructor(deps: ADeps) {} }`,
      ),
      errors: [{ messageId: 'tooMany' }],
    },
    {
      name: 'a part of a type and others',
      ...typed(
        `${PICK} interface B { ${bag(9)} } class A { constructor(deps: Pick<B, 'd0' | 'd1' | 'd2' | 'd3' | 'd4'> & { e: 1; f: 1 }, a: 1, b: 1) {} }`,
      ),
      errors: [{ messageId: 'tooMany' }],
    },
    {
      name: 'one by one',
      ...typed(`class A { constructor(${Array.from({ length: 9 }, (_, i) => `p${i} = 0`).join(', ')}) {} }`),
      errors: [{ messageId: 'tooMany' }],
    },
  ],
});

for (const [title, body] of cases)
  void t.test(title, (t) => {
    body();
    t.pass(title);
    t.end();
  });
