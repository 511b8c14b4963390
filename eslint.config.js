import tseslint from 'typescript-eslint';

export default tseslint.config(
  {
    ignores: [
      '**/node_modules/',
      '**/.tap/',
      '.parley/',
      'loadtest/peers/*/node_modules/',
      '**/public/**/*.js',
    ],
  },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts'],
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
      ],
    },
  },
);
