import { ActionIcon, Box, Code, Group, Text, Tooltip } from '@mantine/core';
import { RotateCcw } from '../build-icons.ts';
import type { Field } from './field.ts';
import { useForm } from './form-scope.tsx';
import { getAt, isEqual } from './form-value.ts';
import type { Path } from './form-value.ts';

/** A field's name, what it does, and whether callers get it yet. */
export function FieldLabel({ field, path, htmlFor }: { field: Field; path: Path; htmlFor?: string }) {
  return (
    <Box>
      <Group gap={6} wrap="nowrap">
        <Text
          component="label"
          {...(htmlFor !== undefined && { htmlFor })}
          size="sm"
          fw={field.kind === 'group' ? 600 : 500}
        >
          {field.label}
        </Text>
        {field.kind !== 'group' && <LiveMark path={path} label={field.label} />}
      </Group>
      {field.text !== '' && <Description text={field.text} />}
    </Box>
  );
}

/** Marks what callers do not get yet, and takes it back. */
function LiveMark({ path, label }: { path: Path; label: string }) {
  const { live, value, readOnly, change } = useForm();
  if (live === undefined) return null;
  const now = getAt(live, path);
  if (isEqual(now, getAt(value, path))) return null;
  const shown = JSON.stringify(now) ?? 'nothing';
  return (
    <Tooltip label={`Live: ${shown.length > 200 ? `${shown.slice(0, 200)}…` : shown}`} multiline maw={360}>
      <ActionIcon
        size="xs"
        variant="light"
        color="yellow"
        disabled={readOnly}
        aria-label={`${label} differs from the live version: take the live value`}
        onClick={() => change(path, now)}
      >
        <RotateCcw size={11} />
      </ActionIcon>
    </Tooltip>
  );
}

/** Text with `code` in it. */
function Description({ text }: { text: string }) {
  return (
    <Text size="xs" c="dimmed" lh={1.45}>
      {text.split('`').map((part, index) => (index % 2 === 1 ? <Code key={index}>{part}</Code> : part))}
    </Text>
  );
}
