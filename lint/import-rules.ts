import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import ts from 'typescript';

// Who may import whom, read from the sources themselves. `imports.test.ts` runs these rules over the repository.

/** What breaks a rule. `key` names it once, however many lines do. */
export interface Fault {
  key: string;
  file: string;
  line: number;
  /** What is wrong, and what to do about it. */
  message: string;
}

interface Import {
  line: number;
  specifier: string;
  /** The file it leads to, from the root: of this repository only. */
  target: string | undefined;
  /** The npm package it is of: of others only. */
  package: string | undefined;
  /** Loaded where it is needed, by `import()`, or not at all: a type. */
  lazy: boolean;
}

export interface SourceFile {
  /** From the root, with slashes. */
  file: string;
  /** Its first folder: `shared`, `control-plane`, …; `lint` belongs to the root's package. */
  workspace: string;
  /** Tries the product and is no part of it. */
  test: boolean;
  imports: readonly Import[];
  /** Names and texts of the code, comments left out. */
  words: readonly { line: number; text: string }[];
}

export interface Repository {
  files: readonly SourceFile[];
  /** By workspace; the root's under ''. */
  packages: ReadonlyMap<string, Package>;
}

interface Package {
  dependencies: ReadonlySet<string>;
  devDependencies: ReadonlySet<string>;
  /** Packages whose commands its scripts run. */
  tools: ReadonlySet<string>;
}

const SCOPE = '@parley/';
const SERVICES = ['control-plane', 'media-gateway'];
/**
 * What the features of a service stand on, and what puts them together: everybody may import these. Each other folder
 * of its sources is a feature.
 */
const PLATFORM = {
  'control-plane': ['http', 'storage', 'tenancy', 'crypto', 'lifecycle', 'jobs', 'composition'],
  'media-gateway': [] as string[],
};

/** Reads the workspaces' sources. @param root the repository's folder */
export function readRepository(root: string): Repository {
  const manifest = readJson(root, 'package.json');
  const workspaces = manifest.workspaces as string[];
  const packages = new Map<string, Package>([['', packageOf(manifest)]]);
  for (const workspace of workspaces)
    packages.set(workspace, packageOf(readJson(root, `${workspace}/package.json`)));
  const paths = globSync(
    [...workspaces.map((workspace) => `${workspace}/**/*.{ts,tsx,mjs}`), 'lint/*.ts', '*.js'],
    {
      cwd: root,
      exclude: (name) => name === 'node_modules' || name === 'peers' || name === 'schema.d.ts',
    },
  );
  return {
    packages,
    files: paths
      .map((file) => file.replaceAll(path.sep, '/'))
      .sort()
      .map((file) => readSource(file, readFileSync(path.join(root, file), 'utf8'))),
  };
}

function readJson(root: string, file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(path.join(root, file), 'utf8')) as Record<string, unknown>;
}

function packageOf(manifest: Record<string, unknown>): Package {
  const names = (field: string) => new Set(Object.keys((manifest[field] ?? {}) as object));
  const scripts = Object.values((manifest['scripts'] ?? {}) as Record<string, string>).join(' ');
  const tools = new Set(scripts.split(/[^a-z@/-]+/));
  return { dependencies: names('dependencies'), devDependencies: names('devDependencies'), tools };
}

/** Reads one source: its imports of every form, and the words of its code. */
export function readSource(file: string, text: string): SourceFile {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const imports: Import[] = [];
  const words: { line: number; text: string }[] = [];
  const visit = (node: ts.Node): void => {
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
    const specifier = specifierOf(node);
    if (specifier !== undefined)
      imports.push({ line, specifier, ...resolve(file, specifier), lazy: isLazy(node) });
    if (
      ts.isIdentifier(node) ||
      ts.isPrivateIdentifier(node) ||
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddleOrTemplateTail(node) ||
      ts.isRegularExpressionLiteral(node)
    )
      words.push({ line, text: node.text });
    ts.forEachChild(node, visit);
  };
  visit(source);
  const workspace = file.includes('/') ? workspaceOf(file) : '';
  return { file, workspace, test: isTest(file), imports, words };
}

function isTest(file: string): boolean {
  return (
    /(^|\/)test\/|\.(test|fixture|conformance)\.ts$|(^|\/)fakes\.ts$|[-/]sample\.ts$|\/api-types\.ts$/.test(
      file,
    ) || isOfRoot(file)
  );
}

/** What an `import`, `export … from`, `import()`, `require()`, `require.resolve()` or `new URL()` of a module names. */
function specifierOf(node: ts.Node): string | undefined {
  if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier)
    return textOf(node.moduleSpecifier);
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return textOf(node.argument.literal);
  if (ts.isCallExpression(node)) {
    const called = node.expression.getText();
    const loads =
      node.expression.kind === ts.SyntaxKind.ImportKeyword ||
      /^(require|createRequire\(import\.meta\.url\))(\.resolve)?$|^import\.meta\.resolve$/.test(called);
    return loads ? textOf(node.arguments[0]) : undefined;
  }
  if (ts.isNewExpression(node) && node.expression.getText() === 'URL') {
    const [location, base] = node.arguments ?? [];
    const name = textOf(location);
    if (base?.getText() !== 'import.meta.url' || !name?.endsWith('.ts')) return undefined;
    return name.startsWith('.') ? name : `./${name}`;
  }
  return undefined;
}

/** The text of a literal; of one with values in it, the part before the first. */
function textOf(node: ts.Node | undefined): string | undefined {
  if (node && ts.isTemplateExpression(node)) return node.head.text;
  return node && ts.isStringLiteralLike(node) ? node.text : undefined;
}

function isLazy(node: ts.Node): boolean {
  if (ts.isImportDeclaration(node)) return node.importClause?.isTypeOnly === true;
  return !ts.isExportDeclaration(node) || node.isTypeOnly;
}

function resolve(file: string, specifier: string): Pick<Import, 'target' | 'package'> {
  if (specifier.startsWith('.'))
    return { target: path.posix.join(path.posix.dirname(file), specifier), package: undefined };
  if (specifier.startsWith(SCOPE)) {
    const [workspace, ...rest] = specifier.slice(SCOPE.length).split('/');
    return { target: `${workspace}/src/${rest.join('/')}.ts`, package: undefined };
  }
  if (isBuiltin(specifier)) return { target: undefined, package: undefined };
  const parts = specifier.split('/');
  return { target: undefined, package: parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/') };
}

function workspaceOf(file: string): string {
  return file.split('/')[0]!;
}

/** An import of what the workspace's package.json does not declare: there as a dependency, for tests as either. */
export function undeclaredImports({ files, packages }: Repository): Fault[] {
  const root = packages.get('')!;
  return files.flatMap(({ file, workspace, test, imports }) =>
    imports.flatMap(({ line, specifier, target, package: name }) => {
      const of = target !== undefined ? `${SCOPE}${workspaceOf(target)}` : name;
      const own = packages.get(workspace) ?? root;
      if (of === undefined || of === `${SCOPE}${workspace}`) return [];
      if (target !== undefined && !packages.has(workspaceOf(target))) return [];
      if (own.dependencies.has(of)) return [];
      if (test && (own.devDependencies.has(of) || root.devDependencies.has(of))) return [];
      const field = test ? 'devDependencies' : 'dependencies';
      const message = `imports ${specifier}, which ${workspace}/package.json does not declare: add ${of} to its ${field}, or do without`;
      return [{ key: `${file} > ${of}`, file, line, message }];
    }),
  );
}

/**
 * What a package.json declares and no file of its workspace imports: as a dependency, no file of the product. The types
 * of a package are used where the package is; the root's tools where a script or a configuration names them.
 * @param byName packages that are loaded by a name in a variable, with the file that has the name
 */
export function unusedDependencies(
  { files, packages }: Repository,
  byName: Readonly<Record<string, string>> = {},
): Fault[] {
  const isNamed = (name: string) =>
    files.some(({ file, words }) => file === byName[name] && words.some(({ text }) => text === name));
  return [...packages].flatMap(([workspace, { dependencies, devDependencies, tools }]) => {
    const own = files.filter(
      (file) => file.workspace === workspace || (workspace === '' && isOfRoot(file.file)),
    );
    const unused = (declared: ReadonlySet<string>, users: readonly SourceFile[]) => {
      const used = new Set(users.flatMap(({ imports }) => imports.map(packageOfImport)));
      const typed = (name: string) => used.has(name.replace('@types/', '').replace(/^(.+)__(.+)$/, '@$1/$2'));
      return [...declared].filter(
        (name) => !used.has(name) && !tools.has(name) && !typed(name) && !isNamed(name),
      );
    };
    const fault = (field: string, name: string): Fault => ({
      key: `${workspace} > ${name}`,
      file: workspace === '' ? 'package.json' : `${workspace}/package.json`,
      line: 1,
      message: `has ${name} in its ${field}, which nothing ${field === 'dependencies' ? 'of the product ' : ''}there imports: take it out, or to where it is used`,
    });
    return [
      ...unused(
        dependencies,
        own.filter(({ test }) => !test),
      ).map((name) => fault('dependencies', name)),
      ...unused(devDependencies, own).map((name) => fault('devDependencies', name)),
    ];
  });
}

function isOfRoot(file: string): boolean {
  return !file.includes('/') || file.startsWith('lint/');
}

/** What is to be declared for it; for a part of Node, whose types have a package, `node`. */
function packageOfImport({ specifier, target, package: name }: Import): string | undefined {
  if (isBuiltin(specifier)) return 'node';
  return target === undefined ? name : `${SCOPE}${workspaceOf(target)}`;
}

/** Imports of a package that takes long to load, where everybody who loads the file waits for it. */
export function eagerImports({ files }: Repository, heavy: readonly string[]): Fault[] {
  return files.flatMap(({ file, test, imports }) =>
    imports.flatMap(({ line, specifier, package: name, lazy }) => {
      if (test || lazy || name === undefined || !heavy.includes(name)) return [];
      const message = `imports ${specifier}, which takes long to load: import() it where it is first needed`;
      return [{ key: `${file} > ${name}`, file, line, message }];
    }),
  );
}

/** Workspaces that import each other, by way of others or not, tests included. */
export function workspaceCycles({ files }: Repository): Fault[] {
  const edges = files.flatMap(({ file, workspace, imports }) =>
    imports.flatMap(({ line, target }) =>
      target === undefined
        ? []
        : [{ from: partOf(file, workspace), to: workspaceOf(target), file, line, target }],
    ),
  );
  return cycleFaults(
    edges,
    'workspace',
    'move what is needed to the workspace both may import, or the test to the one that holds the whole',
  );
}

/** The console's tests open the whole platform, which serves the console: nobody imports them. */
function partOf(file: string, workspace: string): string {
  return file.startsWith('console/test/') ? 'console/test' : workspace;
}

/** Features of a service that import each other, by way of others or not. */
export function featureCycles({ files }: Repository): Fault[] {
  return Object.keys(PLATFORM).flatMap((service) => {
    const edges = files
      .filter(({ workspace, test }) => workspace === service && !test)
      .flatMap(({ file, imports }) =>
        imports.flatMap(({ line, target }) => {
          const [from, to] = [featureOf(file), target && featureOf(target)];
          return from && to && target ? [{ from, to, file, line, target }] : [];
        }),
      );
    return cycleFaults(edges, 'feature', 'take what is needed as a small interface that the root fills in');
  });
}

interface Edge {
  from: string;
  to: string;
  file: string;
  line: number;
  target: string;
}

/** The imports that lie on a cycle: one fault for each pair, at the first of its imports. */
function cycleFaults(edges: readonly Edge[], what: string, remedy: string): Fault[] {
  const next = new Map<string, Set<string>>();
  for (const { from, to } of edges) if (from !== to) next.set(from, (next.get(from) ?? new Set()).add(to));
  const reaches = (from: string, to: string): boolean => {
    const seen = new Set<string>();
    const open = [from];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      for (const neighbour of next.get(at) ?? []) {
        if (neighbour === to) return true;
        if (!seen.has(neighbour)) open.push(neighbour);
        seen.add(neighbour);
      }
    }
    return false;
  };
  const faults = new Map<string, Fault>();
  for (const { from, to, file, line, target } of edges) {
    if (from === to || !reaches(to, from)) continue;
    const key = `${from} > ${to}`;
    const message = `imports ${target}, but the ${what} '${to}' imports '${from}' in turn: ${remedy}`;
    if (!faults.has(key)) faults.set(key, { key, file, line, message });
  }
  return [...faults.values()];
}

/** The feature a file is of: a folder of a service's sources that is no part of its platform. */
function featureOf(file: string): string | undefined {
  const [service = '', src, folder, ...rest] = file.split('/');
  if (src !== 'src' || folder === undefined || rest.length === 0) return undefined;
  const platform = (PLATFORM as Record<string, string[]>)[service];
  return platform && !platform.includes(folder) ? folder : undefined;
}

/** A feature of the control plane that imports another one's model, schema or routes. */
export function featureInternals({ files }: Repository): Fault[] {
  return files
    .filter(({ workspace, test }) => workspace === 'control-plane' && !test)
    .flatMap(({ file, imports }) =>
      imports.flatMap(({ line, target }) => {
        const own = featureOf(file);
        const other = target && featureOf(target);
        if (!own || !other || own === other || !/-(model|schema|routes)\.ts$/.test(target)) return [];
        const message = `imports ${target}, which belongs to the feature '${other}': call its service, or take what is needed as a small interface that the root fills in`;
        return [{ key: `${own} > ${target.split('/').slice(2).join('/')}`, file, line, message }];
      }),
    );
}

/** Services that import each other, and emulators that import a service. */
export function servicesApart({ files }: Repository): Fault[] {
  return files.flatMap(({ file, workspace, imports }) => {
    const apart = SERVICES.includes(workspace) || workspace === 'emulators';
    return imports.flatMap(({ line, target }) => {
      const to = target && workspaceOf(target);
      if (!apart || !to || to === workspace || !SERVICES.includes(to)) return [];
      const why =
        workspace === 'emulators'
          ? "an emulator is written from its vendor's documents alone: one that shares the code it tries agrees with it always"
          : 'services meet in shared/src/contracts only';
      return [{ key: `${file} > ${target}`, file, line, message: `imports ${target}: ${why}` }];
    });
  });
}

/**
 * Vendors' names in the code (not the comments) of the services, outside files that have the name themselves.
 * @param allowed files that may name them all
 */
export function vendorNames(
  { files }: Repository,
  vendors: readonly string[],
  allowed: readonly string[],
): Fault[] {
  const faults = new Map<string, Fault>();
  for (const { file, workspace, test, words } of files) {
    if (test || ![...SERVICES, 'shared'].includes(workspace)) continue;
    if (allowed.includes(file)) continue;
    for (const vendor of vendors) {
      if (file.includes(vendor)) continue;
      const found = words.find(({ text }) => text.toLowerCase().includes(vendor));
      if (!found) continue;
      const message = `names ${vendor} ('${found.text.trim().slice(0, 60)}'): put what differs into the vendor's descriptor, and ask that`;
      const key = `${file}: ${vendor}`;
      faults.set(key, { key, file, line: found.line, message });
    }
  }
  return [...faults.values()];
}
