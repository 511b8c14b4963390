/** From least to most. */
export const ROLES = ['viewer', 'editor', 'admin', 'owner'] as const;
export type Role = (typeof ROLES)[number];

export function roleAtLeast(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** The lesser of two. */
export function lesserRole(a: Role, b: Role): Role {
  return roleAtLeast(a, b) ? b : a;
}
