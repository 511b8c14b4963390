declare module '*.css';

/** The address of a script of its own, for `audioWorklet.addModule()` or `new Worker()`: see `build/bundle.ts`. */
declare module '*?url' {
  const url: string;
  export default url;
}

/** Scripts of several pages, imported for what they do. */
declare module '@parley/shared/browser/*';
