import { readFile, writeFile } from 'node:fs/promises';
import { withSupported } from './supported.ts';

// `npm run readme --workspace @parley/document-store`: makes the README's tables anew.

const file = new URL('../README.md', import.meta.url);
await writeFile(file, withSupported(await readFile(file, 'utf8')));
