import { bundleConsole } from './bundle.ts';
import { writeBuiltFiles } from './built-files.ts';

// Writes the bundle into console/dist, for an image that has no bundler.
await writeBuiltFiles(await bundleConsole());
