import { readFeatures } from './composition/unconnected.ts';
import { describeOperations } from './http/openapi.ts';

// Prints the description and starts nothing.
// A reader that has enough (`npm run openapi | head`) is no failure.
process.stdout.on('error', () => {});
const url = process.env['PUBLIC_URL'] ?? 'http://127.0.0.1:8080';
const description = await readFeatures(({ routes }) => describeOperations(routes, { url }));
process.stdout.write(`${JSON.stringify(description, null, 2)}\n`);
