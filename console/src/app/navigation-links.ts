import type { Page } from './pages.ts';
import { roleAtLeast } from './roles.ts';
import type { Role } from './roles.ts';

/** The org and project that links lead into, where they are known. */
export interface Ids {
  orgId: string | undefined;
  projectId: string | undefined;
}

/** Whether a page can be reached from here and is for this role. */
export function offered(page: Pick<Page, 'path' | 'role'>, role: Role, ids: Ids): boolean {
  if (page.path.includes('$projectId') && ids.projectId === undefined) return false;
  if (page.path.includes('$orgId') && ids.orgId === undefined) return false;
  return roleAtLeast(role, page.role ?? 'viewer');
}

export function addressOf(page: Pick<Page, 'path'>, ids: Ids): string {
  return page.path.replace('$projectId', ids.projectId ?? '').replace('$orgId', ids.orgId ?? '');
}

/** Whether `pathname` is that page or one below it. */
export function isOpen(address: string, pathname: string): boolean {
  return pathname === address || pathname.startsWith(`${address}/`);
}
