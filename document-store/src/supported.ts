import { commandGroups } from './commands/commands.ts';
import { accumulators } from './expressions/accumulators.ts';
import { operators } from './expressions/expression-operators.ts';
import { stageTypes } from './aggregation/pipeline.ts';
import { fieldOperators, queryOperators } from './matching/filter-parser.ts';
import { updateOperators } from './update/update-parser.ts';

/** Around the part of the README that is made from the code. */
const BEGIN = '<!-- made from the code by src/write-readme.ts -->';
const END = '<!-- end of what is made -->';

/** The README with its tables made anew. @throws Error when it has no place for them */
export function withSupported(readme: string): string {
  const [from, to] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`the README has no lines ${BEGIN} and ${END}`);
  return `${readme.slice(0, from)}${BEGIN}\n\n${supported()}\n\n${readme.slice(to)}`;
}

/** Markdown: every command and operator there is, and what those of aggregation are needed for. */
function supported(): string {
  const groups = Object.entries(commandGroups).map(([group, commands]) => [
    group,
    names(Object.keys(commands).filter((name) => !commands[name]!.refused)),
  ]);
  const refused = Object.values(commandGroups).flatMap((commands) =>
    Object.keys(commands).filter((name) => commands[name]!.refused),
  );
  return [
    table(['', 'commands'], [...groups, ["Known, and refused with MongoDB's error", names(refused)]]),
    table(
      ['', 'operators'],
      [
        ['Queries', names([...Object.keys(fieldOperators), ...Object.keys(queryOperators)])],
        ['Updates', names([...updateOperators])],
      ],
    ),
    table(
      ['aggregation', 'needed for'],
      [...rows('stage', stageTypes), ...rows('accumulator', accumulators), ...rows('expression', operators)],
    ),
  ].join('\n\n');
}

function rows(what: string, entries: Readonly<Record<string, { purpose: string }>>): string[][] {
  return Object.entries(entries).map(([name, { purpose }]) => [`${what} \`${name}\``, purpose]);
}

function names(list: readonly string[]): string {
  return list.map((name) => `\`${name}\``).join(' ');
}

function table(head: readonly string[], body: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n');
}
