import { globSync } from 'node:fs';
import path from 'node:path';

const PACKAGES = '{control-plane,document-store,media-gateway,shared}';
/** What tests are made of. */
const OF_TESTS =
  /\/fixtures\/|\.(test|conformance|fixture|corpus|phrases|unseen[a-z-]*)\.ts$|[-/](fakes|fixtures|sample|manual-clock)\.ts$/;
/** Tables of words, and the texts that describe the API's fields: no test is to repeat them. */
const TABLES =
  /[-/]tables\.ts$|\/(first-names|listening-phrases)\.ts$|\/(agents|http)\/[a-z-]+-texts\.ts$|\.d\.ts$/;

/**
 * The sources of the product whose mutants tests are to notice.
 * @param root of the repository
 * @param under files or folders: only what lies there; without one, all
 * @returns files relative to the root, always in the same order
 */
export function productSources(root: string, under: readonly string[] = []): string[] {
  const prefixes = under.map((name) => path.relative(root, path.resolve(root, name)));
  return globSync(`${PACKAGES}/src/**/*.ts`, { cwd: root })
    .filter((file) => !OF_TESTS.test(file) && !TABLES.test(file))
    .filter(
      (file) =>
        prefixes.length === 0 || prefixes.some((prefix) => file === prefix || file.startsWith(`${prefix}/`)),
    )
    .sort();
}
