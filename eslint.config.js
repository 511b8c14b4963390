import tseslint from 'typescript-eslint';
import { classSize, constructorDependencies } from './lint/size-rules.ts';

/** Not the product: what tries it. */
const TESTS = ['**/*.test.ts', '**/test/**', '**/fixtures/**', '**/*.conformance.ts', '**/fakes.ts'];
/** Longer than a file may be, because they are one table each. */
const TABLES = [
  'control-plane/src/http/field-texts.ts',
  'media-gateway/src/answering/answer-phrase-tables.ts',
];

export default tseslint.config(
  {
    ignores: [
      '**/node_modules/',
      '**/.tap/',
      '.parley/',
      'loadtest/peers/*/node_modules/',
      '**/public/**/*.js',
      'console/dist/',
      'console/src/api/schema.d.ts',
    ],
  },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // `pcm.buffer` of a pooled Buffer is somebody else's memory: copy, or pass offset and length.
      'no-restricted-syntax': [
        'error',
        {
          selector:
            "NewExpression[callee.name=/^(Int16Array|Float32Array|DataView|Uint8Array)$/][arguments.length=1] > MemberExpression.arguments[property.name='buffer']",
          message: 'Give byteOffset and length too: the buffer may be shared with other data.',
        },
        {
          selector:
            'NewExpression[callee.name=/^(Agent|Pool)$/]:not(:has(Identifier[name=/^(HTTP1_ONLY|allowH2)$/]))',
          message: 'Spread HTTP1_ONLY (shared/src/http/http1.ts), which says why, or allowH2 in a test.',
        },
      ],
    },
  },
  // React takes handlers that return a promise; what rejects in them is shown by whoever wrote them.
  {
    files: ['**/*.tsx'],
    rules: {
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
    },
  },
  // A Node that is too old reads these: CommonJS, as they are.
  { files: ['**/*.cjs'], rules: { '@typescript-eslint/no-require-imports': 'off' } },
  {
    files: ['**/*.{ts,tsx}'],
    ignores: [...TESTS, ...TABLES],
    plugins: {
      house: { rules: { 'class-size': classSize, 'constructor-dependencies': constructorDependencies } },
    },
    rules: {
      'max-lines': ['error', { max: 500 }],
      'house/class-size': ['error', { methods: 25, mutableFields: 12 }],
      'house/constructor-dependencies': ['error', { max: 8 }],
    },
  },
);
