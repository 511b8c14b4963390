import { NavLink, Text } from '@mantine/core';
import { Link, useLocation } from '@tanstack/react-router';
import { useContext } from 'react';
import { addressOf, isOpen, offered } from './navigation-links.ts';
import { GROUPS, PAGES } from './pages.ts';
import { ProjectValue, lastProject, useOrg } from './project.ts';

/** The pages that the person may open here, by group. */
export function Navigation() {
  const project = useContext(ProjectValue);
  const { pathname } = useLocation();
  const { orgId, role } = useOrg();
  const ids = { projectId: project?.projectId ?? lastProject.get() ?? undefined, orgId: orgId || undefined };
  return (
    <nav aria-label="Pages">
      {(['top', ...GROUPS] as const).map((group) => {
        const pages = PAGES.filter((page) => page.group === group && offered(page, role, ids));
        if (pages.length === 0) return null;
        return (
          <section key={group} aria-label={group === 'top' ? 'Start' : group}>
            {group !== 'top' && (
              <Text size="xs" fw={600} c="dimmed" px="xs" pt="md" pb={4}>
                {group}
              </Text>
            )}
            {pages.map((page) => {
              const to = addressOf(page, ids);
              const Icon = page.icon;
              const open = isOpen(to, pathname);
              return (
                <NavLink
                  key={page.path}
                  component={Link}
                  to={to}
                  label={page.title}
                  leftSection={Icon && <Icon size={17} aria-hidden />}
                  active={open}
                  aria-current={open ? 'page' : undefined}
                  variant="light"
                  py={6}
                  px="xs"
                  style={{ borderRadius: 'var(--mantine-radius-md)' }}
                />
              );
            })}
          </section>
        );
      })}
    </nav>
  );
}
