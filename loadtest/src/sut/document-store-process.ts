import { openDocumentStore } from '@parley/document-store/document-store';

/** The embedded document store as a process of its own, so that its work is counted apart from the control plane's. */
const store = await openDocumentStore({ path: process.argv[2]! });
process.once('disconnect', () => {
  void store[Symbol.asyncDispose]().finally(() => process.exit(0));
});
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.send!({ ready: { uri: store.uri } });
