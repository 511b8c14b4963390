import { Text } from '@mantine/core';
import { inWords } from '../../components/format.ts';
import { isObject } from '../../components/schema-form/form-value.ts';
import { referenceKindOf } from '../../components/schema-form/reference-kind.ts';
import { useChoices } from '../../components/schema-form/references.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';

/** A field of a record as people read it: moments, states, and other records by their names. */
export function RecordValue({ name, value }: { name: string; value: unknown }) {
  const kind = referenceKindOf(name);
  const choices = useChoices(typeof value === 'string' || Array.isArray(value) ? kind : undefined);
  const nameOf = (id: string) => choices.find((one) => one.value === id)?.label ?? id;
  if (value === null || value === undefined || value === '') return <>–</>;
  if (name.endsWith('_at') && typeof value === 'string') return <Time value={value} />;
  if (name === 'provider' && typeof value === 'string') return <>{inWords(value)}</>;
  if (name === 'status' && typeof value === 'string') return <StatusBadge status={value} />;
  if (typeof value === 'boolean') return <>{value ? 'Yes' : 'No'}</>;
  const text = Array.isArray(value)
    ? value.map((one) => nameOf(String(one))).join(', ')
    : isObject(value)
      ? JSON.stringify(value)
      : kind && typeof value === 'string'
        ? nameOf(value)
        : String(value as string | number);
  return (
    <Text span inherit lineClamp={1} style={{ overflowWrap: 'anywhere' }}>
      {text}
    </Text>
  );
}
