import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { table } from './terminal.ts';

interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string; lineNumber: number };
  children?: number[];
}
interface Profile {
  nodes: ProfileNode[];
  samples: number[];
  timeDeltas: number[];
}

const TOP = 30;

/** Where the processor's time went, by function, of the profiles in a folder (V8's `.cpuprofile`). */
export async function profileTables(directory: string): Promise<string> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.cpuprofile')).toSorted();
  const tables = await Promise.all(
    files.map(async (file) => {
      const profile = JSON.parse(await readFile(join(directory, file), 'utf8')) as Profile;
      return `${file}\n${profileTable(profile)}`;
    }),
  );
  return tables.join('\n\n');
}

/** Self time by function; total time counts a function that calls itself once. */
export function profileTable(profile: Profile): string {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const selfMs = new Map<number, number>();
  profile.samples.forEach((id, index) => {
    selfMs.set(id, (selfMs.get(id) ?? 0) + profile.timeDeltas[index]! / 1000);
  });
  const byFunction = new Map<string, { self: number; total: number }>();
  const visit = (node: ProfileNode, above: ReadonlySet<string>): number => {
    const name = nameOf(node);
    const self = selfMs.get(node.id) ?? 0;
    const inside = new Set(above).add(name);
    let total = self;
    for (const id of node.children ?? []) total += visit(nodes.get(id)!, inside);
    const entry = byFunction.get(name) ?? { self: 0, total: 0 };
    entry.self += self;
    if (!above.has(name)) entry.total += total;
    byFunction.set(name, entry);
    return total;
  };
  const allMs = visit(profile.nodes[0]!, new Set());
  const idleMs = byFunction.get('(idle)')?.self ?? 0;
  const busyMs = allMs - idleMs;
  const share = (ms: number) => `${((100 * ms) / busyMs).toFixed(1)} %`;
  const rows = [...byFunction]
    .filter(([name]) => name !== '(idle)' && name !== '(root)')
    .toSorted(([, a], [, b]) => b.self - a.self)
    .slice(0, TOP)
    .map(([name, { self, total }]) => [name, share(self), share(total)]);
  return table([[`of ${(busyMs / 1000).toFixed(1)} s busy`, 'self', 'with callees'], ...rows]);
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const name = functionName || '(anonymous)';
  if (url === '') return name;
  const file = url
    .replace(/^file:\/\//, '')
    .split('/')
    .slice(-3)
    .join('/');
  return `${name}  ${file}:${lineNumber + 1}`;
}
