import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import {
  eagerImports,
  featureCycles,
  featureInternals,
  readRepository,
  readSource,
  servicesApart,
  undeclaredImports,
  unusedDependencies,
  vendorNames,
  workspaceCycles,
  type Fault,
  type Repository,
} from './import-rules.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

/** Each carrier has a folder; model providers are files of several folders. */
const VENDORS = [
  ...globSync('media-gateway/src/carriers/*/', { cwd: root }).map((folder) => folder.split('/').at(-1)!),
  ...['deepgram', 'elevenlabs', 'openai', 'livekit'],
];

/** Files that name every vendor because that is what they are for. */
const NAMES_ALL: Record<string, string> = {
  'shared/src/contracts/session-values.ts': 'the names of carriers, as they are written and stored',
  'control-plane/src/carriers/carriers.ts': 'the list of descriptors',
  'control-plane/src/providers/providers.ts': 'the list of descriptors',
  'control-plane/src/sessions/session-routes.ts': 'an operation in the form that OpenAI SDKs call',
  'media-gateway/src/carriers/carriers.ts': 'the list of descriptors',
  'media-gateway/src/providers/providers.ts': 'the list of descriptors',
  'media-gateway/src/realtime/realtime-credential.ts': "a subprotocol's name in OpenAI's Realtime protocol",
};

/** Packages that are loaded by a name in a variable. */
const BY_NAME = { 'uwebsockets-compat': 'media-gateway/src/server/load-uws.ts' };

/** Half a second of processor time and more, which a platform's start is not to wait for. */
const HEAVY = ['@elevenlabs/elevenlabs-js', 'esbuild', 'playwright-core'];

const repository = readRepository(root);

function passes(t: Test, faults: readonly Fault[]): void {
  for (const { file, line, message } of faults) t.fail(`${file}:${line} ${message}`);
  t.equal(faults.length, 0);
  t.end();
}

void t.test('every import is declared in the package.json of its workspace', (t) =>
  passes(t, undeclaredImports(repository)),
);
void t.test('every declared package is imported, by the product or by tests', (t) =>
  passes(t, unusedDependencies(repository, BY_NAME)),
);
void t.test('packages that take long to load are loaded by the first who needs them', (t) =>
  passes(t, eagerImports(repository, HEAVY)),
);
void t.test('imports between workspaces go one way', (t) => passes(t, workspaceCycles(repository)));
void t.test('services do not import each other, nor emulators a service', (t) =>
  passes(t, servicesApart(repository)),
);
void t.test('imports between features go one way', (t) => passes(t, featureCycles(repository)));
void t.test('a feature leaves the models, schemas and routes of others alone', (t) =>
  passes(t, featureInternals(repository)),
);
void t.test("vendors' names stay in the vendors' own files", (t) => {
  const all = vendorNames(repository, VENDORS, []);
  for (const file of Object.keys(NAMES_ALL))
    t.ok(
      all.some((fault) => fault.file === file),
      `${file} names a vendor, or needs no leave to`,
    );
  passes(t, vendorNames(repository, VENDORS, Object.keys(NAMES_ALL)));
});

/** A repository of sources made up. */
function made(sources: Record<string, string>, declared: Record<string, string[]> = {}): Repository {
  const names = ['', 'shared', 'control-plane', 'media-gateway', 'emulators', 'embedded'];
  const none = new Set<string>();
  return {
    files: Object.entries(sources).map(([file, text]) => readSource(file, text)),
    packages: new Map(
      names.map((name) => [
        name,
        {
          dependencies: new Set(declared[name] ?? []),
          devDependencies: new Set(declared[`${name} dev`] ?? none),
          tools: new Set(declared[`${name} tools`] ?? none),
        },
      ]),
    ),
  };
}

const where = (faults: readonly Fault[]) => faults.map(({ file, line }) => `${file}:${line}`);

void t.test('an import of any form is found', async (t) => {
  const forms = [
    "import a from 'one';",
    "import type { B } from '@two/b/deep';",
    "export * from 'three';",
    "const c = await import('four');",
    "type D = import('five').D;",
    "const e = require('six');",
    "const f = createRequire(import.meta.url).resolve('seven/package.json');",
    "new Worker(new URL('../other/eight.ts', import.meta.url));",
    "import 'node:fs';",
    "createRequire(import.meta.url)('ten');",
    "// import 'comment'",
    'const text = "import \'text\'";',
  ];
  const { imports } = readSource('shared/src/a/x.ts', forms.join('\n'));
  t.same(
    imports.map(({ line, package: name, target }) => [line, name ?? target ?? 'built in']),
    [
      [1, 'one'],
      [2, '@two/b'],
      [3, 'three'],
      [4, 'four'],
      [5, 'five'],
      [6, 'six'],
      [7, 'seven'],
      [8, 'shared/src/other/eight.ts'],
      [9, 'built in'],
      [10, 'ten'],
    ],
  );
});

void t.test('what is not declared, or for tests only, is found', async (t) => {
  const sources = {
    'shared/src/a.ts': "import 'here';\nimport 'tests-only';\nimport 'nowhere';",
    'shared/src/a.test.ts': "import 'here';\nimport 'tests-only';\nimport 'of-the-root';\nimport 'nowhere';",
    'embedded/src/b.ts': "import '@parley/shared/a';\nimport '@parley/embedded/c';",
    'embedded/test/b.test.ts': "import '../../shared/test/fixtures/d.ts';",
  };
  const declared = { shared: ['here'], 'shared dev': ['tests-only'], ' dev': ['of-the-root'] };
  t.same(where(undeclaredImports(made(sources, declared))), [
    'shared/src/a.ts:2',
    'shared/src/a.ts:3',
    'shared/src/a.test.ts:4',
    'embedded/src/b.ts:1',
    'embedded/test/b.test.ts:1',
  ]);
});

void t.test('what is declared and not used, or by tests only, is found', async (t) => {
  const sources = {
    'shared/src/a.ts': "import 'here';\nimport.meta.resolve(`pages/${file}`);",
    'shared/src/a.test.ts': "import 'tests-only';\nimport '@scope/typed';",
    'lint/b.ts': "import 'of-lint';",
    'eslint.config.js': "import 'of-a-configuration';",
    'emulators/src/c.ts': "import 'here';",
    'embedded/src/d.ts': "import '@parley/shared/a';\nload('named');",
  };
  const declared = {
    shared: ['here', 'pages', 'tests-only', 'nowhere'],
    'shared dev': ['@scope/typed', '@types/scope__typed', '@types/tests-only', '@types/nothing'],
    embedded: ['here', '@parley/shared', '@parley/emulators', 'named', 'others-named'],
    ' dev': ['of-lint', 'of-a-configuration', 'a-command', 'no-command'],
    ' tools': ['a-command'],
  };
  t.same(
    unusedDependencies(made(sources, declared), {
      named: 'embedded/src/d.ts',
      'others-named': 'embedded/src/d.ts',
    }).map(({ key }) => key),
    [
      ' > no-command',
      'shared > tests-only',
      'shared > nowhere',
      'shared > @types/nothing',
      'embedded > here',
      'embedded > @parley/emulators',
      'embedded > others-named',
    ],
  );
});

void t.test('a heavy package that is loaded with a file is found, types and import() are not', async (t) => {
  const sources = {
    'shared/src/a.ts': "import { A } from 'heavy';",
    'shared/src/b.ts':
      "import type { A } from 'heavy';\nexport type { B } from 'heavy';\nawait import('heavy/deep');",
    'shared/src/c.ts': "export { A } from 'heavy';",
    'shared/src/d.test.ts': "import { A } from 'heavy';",
  };
  t.same(where(eagerImports(made(sources), ['heavy'])), ['shared/src/a.ts:1', 'shared/src/c.ts:1']);
});

void t.test('cycles are found, long ones too, those of tests too', async (t) => {
  const sources = {
    'shared/src/a.ts': "import '@parley/emulators/x';",
    'emulators/src/x.ts': "import '@parley/embedded/y';",
    'embedded/test/y.test.ts': "import '@parley/shared/a';",
    'control-plane/src/z.ts': "import '@parley/shared/a';",
  };
  t.same(where(workspaceCycles(made(sources))), [
    'shared/src/a.ts:1',
    'emulators/src/x.ts:1',
    'embedded/test/y.test.ts:1',
  ]);
  const features = {
    'control-plane/src/agents/agent-service.ts': "import '../tools/tool-service.ts';",
    'control-plane/src/tools/tool-service.ts':
      "import '../agents/agent-service.ts';\nimport '../http/operation.ts';",
    'control-plane/src/tools/tool.test.ts': "import '../calls/call-log.ts';",
    'control-plane/src/calls/call-log.ts': "import '../tools/tool-service.ts';",
    'control-plane/src/http/operation.ts': "import '../tools/tool-service.ts';",
    'media-gateway/src/call/open-call.ts': "import '../turns/turns.ts';",
    'media-gateway/src/turns/turns.ts': "import type { Call } from '../call/open-call.ts';",
  };
  t.same(where(featureCycles(made(features))), [
    'control-plane/src/agents/agent-service.ts:1',
    'control-plane/src/tools/tool-service.ts:1',
    'media-gateway/src/call/open-call.ts:1',
    'media-gateway/src/turns/turns.ts:1',
  ]);
});

void t.test("another feature's own files, and the other service, are found", async (t) => {
  const sources = {
    'control-plane/src/agents/agent-service.ts':
      "import '../tools/tool-model.ts';\nimport '../tools/tool-service.ts';\nimport './agent-model.ts';\nimport '../http/page-schema.ts';",
    'control-plane/src/features.ts': "import './tools/tool-routes.ts';\nimport '@parley/media-gateway/app';",
    'emulators/src/providers/x.ts': "import '@parley/control-plane/app';\nimport '@parley/shared/a';",
    'embedded/src/platform.ts': "import '@parley/control-plane/app';\nimport '@parley/media-gateway/app';",
  };
  t.same(where(featureInternals(made(sources))), ['control-plane/src/agents/agent-service.ts:1']);
  t.same(where(servicesApart(made(sources))), [
    'control-plane/src/features.ts:2',
    'emulators/src/providers/x.ts:1',
  ]);
});

void t.test("a vendor's name is found in code, not in comments, and not in its own files", async (t) => {
  const sources = {
    'media-gateway/src/call/a.ts': "// Twilio says so\nconst a = 'x';\nif (name === 'twilio') run();",
    'media-gateway/src/call/b.ts': 'const text = `of ${name} at TwilioCall`;',
    'media-gateway/src/call/c.ts': 'const twilioCall = 1;\nconst again = twilioCall;',
    'media-gateway/src/call/d.test.ts': "const name = 'twilio';",
    'media-gateway/src/carriers/twilio/e.ts': "const name = 'twilio';",
    'emulators/src/carriers/all.ts': "const name = 'twilio';",
  };
  t.same(where(vendorNames(made(sources), ['twilio', 'plivo'], [])), [
    'media-gateway/src/call/a.ts:3',
    'media-gateway/src/call/b.ts:1',
    'media-gateway/src/call/c.ts:1',
  ]);
});
