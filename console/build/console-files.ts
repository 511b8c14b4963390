/** One file of the console, as it is served under `/assets/`. */
export interface ConsoleFile {
  type: string;
  bytes: Buffer;
  gzip: Buffer;
}

/** All that a browser needs beside the page itself. Names hold the hash of their content. */
export interface ConsoleFiles {
  /** By name, such as `main-ABC123.js`. */
  files: ReadonlyMap<string, ConsoleFile>;
  /** The script that starts the console. */
  script: string;
  /** Scripts that it imports, loaded at the same time. */
  preloads: readonly string[];
  styles: readonly string[];
}

const TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  woff2: 'font/woff2',
};

export function contentType(name: string): string {
  return TYPES[name.split('.').at(-1)!] ?? 'application/octet-stream';
}
