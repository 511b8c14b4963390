import { Group, Text } from '@mantine/core';

/** The mark: two voices, one within the other's pause. */
export function Brand() {
  return (
    <Group gap={8} wrap="nowrap">
      <svg width="22" height="22" viewBox="0 0 22 22" aria-hidden>
        <rect width="22" height="22" rx="6" fill="var(--mantine-primary-color-filled)" />
        <g stroke="#fff" strokeWidth="2" strokeLinecap="round">
          <path d="M5 9.5v3M8 7v8" />
          <path d="M11 9v4M14 6v10M17 9.5v3" strokeOpacity="0.75" />
        </g>
      </svg>
      <Text fw={680} size="md" style={{ letterSpacing: '-0.01em' }}>
        Parley
      </Text>
    </Group>
  );
}
