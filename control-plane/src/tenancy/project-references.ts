import { projectCollection } from '../projects/project-model.ts';
import { checkReferences } from './references.ts';
import type { Loc } from './references.ts';
import type { Scope } from './scope.ts';

/** @throws ValidationError `reference_not_found` for each project that `scope` cannot use */
export function checkProjects(scope: Scope, named: readonly { id: string; loc: Loc }[]): Promise<void> {
  return checkReferences(
    scope,
    named.map(({ id, loc }) => ({ collection: projectCollection, id, loc })),
  );
}
