/** In order: each may do what those before it may. */
export const ROLES = ['viewer', 'editor', 'admin', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** What a page asks for: to look, to change records, to administer, to own the org. */
export type Action = 'view' | 'edit' | 'administer' | 'own';

const NEEDS: Record<Action, Role> = { view: 'viewer', edit: 'editor', administer: 'admin', own: 'owner' };

/** Whether `role` is at least what the action needs. */
export function may(role: Role, action: Action): boolean {
  return roleAtLeast(role, NEEDS[action]);
}

export function roleAtLeast(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}
