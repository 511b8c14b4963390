import { cachedBundle } from './bundle-cache.ts';
import { bundleConsole } from './bundle.ts';

// Makes the bundle, where it is not known yet, for whoever asks for it next.
await cachedBundle(bundleConsole);
