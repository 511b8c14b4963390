import { describeOperations } from './http/openapi.ts';
import { createOperations } from './services.ts';
import type { Services } from './services.ts';

// Prints the description and starts nothing: it is made from the routes, whose services are not asked.
// A reader that has enough (`npm run openapi | head`) is no failure.
process.stdout.on('error', () => {});
const url = process.env['PUBLIC_URL'] ?? 'http://127.0.0.1:8080';
process.stdout.write(
  `${JSON.stringify(describeOperations(createOperations({} as Services), { url }), null, 2)}\n`,
);
