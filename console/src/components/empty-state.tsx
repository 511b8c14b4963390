import { Stack, Text, ThemeIcon, Title } from '@mantine/core';
import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

/** What belongs here, what it is for, and the first step. */
export function EmptyState({
  title,
  text,
  action,
  icon: Icon,
}: {
  title: string;
  text: string;
  action?: ReactNode;
  icon?: LucideIcon;
}) {
  return (
    <Stack align="center" gap="xs" py={56} px="md" ta="center">
      {Icon && (
        <ThemeIcon size={48} radius="xl" variant="light" aria-hidden>
          <Icon size={22} />
        </ThemeIcon>
      )}
      <Title order={2} size="h4">
        {title}
      </Title>
      <Text c="dimmed" size="sm" maw={440}>
        {text}
      </Text>
      {action && <div style={{ marginTop: 12 }}>{action}</div>}
    </Stack>
  );
}
