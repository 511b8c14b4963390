import {
  ActionIcon,
  Box,
  Button,
  Card,
  Grid,
  Group,
  Input,
  Select,
  Stack,
  Switch,
  Text,
  TextInput,
} from '@mantine/core';
import { useProject } from '../../app/project.ts';
import { ArrowDown, ArrowUp, Plus, Trash2 } from '../build-icons.ts';
import { Week } from '../week.tsx';
import type { Window } from '../week-windows.ts';
import { useId, useState } from 'react';
import type { ReactNode } from 'react';
import { FieldLabel } from './field-label.tsx';
import type { Field, GroupField } from './field.ts';
import { labelOf, optionLabel } from './field.ts';
import { useForm } from './form-scope.tsx';
import { emptyOf, getAt, isObject, moved, pathKey, shownOf, variantOf } from './form-value.ts';
import type { Path } from './form-value.ts';
import { useControl } from './use-control.ts';
import type { ControlProps, Kind } from './use-control.ts';
import {
  ChoiceControl,
  ChoicesControl,
  JsonControl,
  NumberControl,
  SecretControl,
  SwitchControl,
  TextControl,
  TextsControl,
} from './value-controls.tsx';

/** All fields of an object. */
export function GroupFields({ group, path = [] }: { group: GroupField; path?: Path }) {
  const simple = group.fields.filter((field) => !isSection(field));
  const sections = group.fields.filter(isSection);
  return (
    <Stack gap="lg">
      {simple.length > 0 && (
        <Stack gap="md">
          {simple.map((field) => (
            <FieldRow key={field.key} field={field} path={[...path, field.key]} />
          ))}
        </Stack>
      )}
      {sections.map((field) => (
        <FieldRow key={field.key} field={field} path={[...path, field.key]} />
      ))}
    </Stack>
  );
}

function isSection(field: Field): boolean {
  return field.kind === 'group' || field.kind === 'variant';
}

/** A field with its name, what it does, and its control. */
export function FieldRow({ field, path }: { field: Field; path: Path }) {
  const form = useForm();
  const id = useId();
  const error = form.errors.get(pathKey(path))?.join(' ');
  if (field.kind === 'group') return <GroupRow group={field} path={path} error={error} />;
  const isPlainSwitch = field.kind === 'switch' && (field.required || field.fallback !== undefined);
  const below = (form.narrow && !isPlainSwitch) || isWide(field);
  const widths: readonly [number, number] = form.narrow ? [9, 3] : [6, 6];
  return (
    <Grid rowGap={6} columnGap="md" align="flex-start">
      <Grid.Col span={below ? 12 : { base: isPlainSwitch ? 9 : 12, sm: widths[0] }}>
        <FieldLabel field={field} path={path} htmlFor={id} />
      </Grid.Col>
      <Grid.Col span={below ? 12 : { base: isPlainSwitch ? 3 : 12, sm: widths[1] }}>
        <Control field={field} path={path} id={id} error={error} />
      </Grid.Col>
    </Grid>
  );
}

/** Controls that want the whole width. */
function isWide(field: Field): boolean {
  if (field.kind === 'text') return field.long;
  return ['rows', 'week', 'map', 'json', 'variant'].includes(field.kind);
}

function GroupRow({ group, path, error }: { group: GroupField; path: Path; error: string | undefined }) {
  const { value, readOnly, change } = useForm();
  const { timezone } = useProject();
  const now = getAt(value, path);
  const isOptional = group.nullable || (!group.required && group.fallback === undefined);
  const isOff = isOptional && !isObject(shownOf(group, now));
  return (
    <Card withBorder radius="md" p="md" role="group" aria-label={group.label}>
      <Group justify="space-between" wrap="nowrap" align="flex-start" mb={isOff ? 0 : 'sm'}>
        <FieldLabel field={group} path={path} />
        {isOptional && (
          <Switch
            checked={!isOff}
            disabled={readOnly}
            aria-label={group.label}
            onChange={(event) =>
              change(
                path,
                event.currentTarget.checked
                  ? inZone(emptyOf({ ...group, nullable: false, fallback: undefined }), timezone)
                  : group.nullable
                    ? null
                    : undefined,
              )
            }
          />
        )}
      </Group>
      {error !== undefined && <Input.Error mb="sm">{error}</Input.Error>}
      {!isOff && <GroupFields group={group} path={path} />}
    </Card>
  );
}

/** Times begin with the project's zone. */
function inZone(value: unknown, timezone: string): unknown {
  return isObject(value) && value['timezone'] === '' ? { ...value, timezone } : value;
}

/** The control alone, without a name beside it. */
export function Control({ field, path, id, error }: ControlProps) {
  switch (field.kind) {
    case 'text':
      return <TextControl field={field} path={path} id={id} error={error} />;
    case 'secret':
      return <SecretControl field={field} path={path} id={id} error={error} />;
    case 'number':
      return <NumberControl field={field} path={path} id={id} error={error} />;
    case 'switch':
      return <SwitchControl field={field} path={path} id={id} error={error} />;
    case 'choice':
      return <ChoiceControl field={field} path={path} id={id} error={error} />;
    case 'choices':
      return <ChoicesControl field={field} path={path} id={id} error={error} />;
    case 'texts':
      return <TextsControl field={field} path={path} id={id} error={error} />;
    case 'rows':
      return <RowsControl field={field} path={path} id={id} error={error} />;
    case 'week':
      return <WeekControl field={field} path={path} id={id} error={error} />;
    case 'map':
      return <MapControl field={field} path={path} id={id} error={error} />;
    case 'variant':
      return <VariantControl field={field} path={path} id={id} error={error} />;
    case 'json':
      return <JsonControl field={field} path={path} id={id} error={error} />;
    case 'group':
      return <GroupFields group={field} path={path} />;
  }
}

function RowsControl({ field, path, error }: Kind<'rows'>) {
  const { shown, readOnly, set } = useControl(field, path);
  const rows = Array.isArray(shown) ? (shown as unknown[]) : [];
  const isFull = field.maxItems !== undefined && rows.length >= field.maxItems;
  const nameOf = (index: number) => `${field.row.label || field.label} ${index + 1}`;
  return (
    <Stack gap="xs">
      {rows.map((_, index) => (
        <Row
          key={index}
          field={field.row}
          path={[...path, index]}
          name={nameOf(index)}
          actions={
            !readOnly && (
              <Group gap={2} wrap="nowrap">
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  size="sm"
                  aria-label="Move up"
                  disabled={index === 0}
                  onClick={() => set(moved(rows, index, index - 1))}
                >
                  <ArrowUp size={14} />
                </ActionIcon>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  size="sm"
                  aria-label="Move down"
                  disabled={index === rows.length - 1}
                  onClick={() => set(moved(rows, index, index + 1))}
                >
                  <ArrowDown size={14} />
                </ActionIcon>
                <ActionIcon
                  variant="subtle"
                  color="red"
                  size="sm"
                  aria-label={`Remove ${nameOf(index)}`}
                  onClick={() => set(rows.filter((_one, at) => at !== index))}
                >
                  <Trash2 size={14} />
                </ActionIcon>
              </Group>
            )
          }
        />
      ))}
      {error !== undefined && <Input.Error>{error}</Input.Error>}
      {!readOnly && (
        <Box>
          <Button
            variant="default"
            size="xs"
            leftSection={<Plus size={14} />}
            disabled={isFull}
            onClick={() => set([...rows, emptyOf(field.row)])}
          >
            Add
          </Button>
        </Box>
      )}
    </Stack>
  );
}

function WeekControl({ field, path, error }: Kind<'week'>) {
  const { errors } = useForm();
  const { shown, readOnly, set } = useControl(field, path);
  const against = (...at: Path) => errors.get(pathKey([...path, ...at])) ?? [];
  return (
    <>
      <Week
        windows={Array.isArray(shown) ? (shown as Window[]) : []}
        readOnly={readOnly}
        errorOf={(at) =>
          ['days', 'start', 'end']
            .flatMap((key) => against(at, key))
            .concat(against(at))
            .join(' ') || undefined
        }
        onChange={set}
      />
      {error !== undefined && <Input.Error>{error}</Input.Error>}
    </>
  );
}

function Row({ field, path, name, actions }: { field: Field; path: Path; name: string; actions: ReactNode }) {
  const { errors } = useForm();
  const id = useId();
  const error = errors.get(pathKey(path))?.join(' ');
  if (field.kind !== 'group' && field.kind !== 'variant') {
    return (
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <Box flex={1}>
          <Control field={{ ...field, label: name }} path={path} id={id} error={error} />
        </Box>
        {actions}
      </Group>
    );
  }
  return (
    <Card withBorder radius="md" p="sm" role="group" aria-label={name}>
      <Group justify="space-between" mb="xs">
        <Text size="xs" fw={600} c="dimmed">
          {name}
        </Text>
        {actions}
      </Group>
      {error !== undefined && <Input.Error mb="xs">{error}</Input.Error>}
      <Control field={field} path={path} id={id} error={undefined} />
    </Card>
  );
}

function MapControl({ field, path, error }: Kind<'map'>) {
  const { shown, readOnly, set } = useControl(field, path);
  const [name, setName] = useState('');
  const entries = isObject(shown) ? shown : {};
  const add = () => {
    if (name === '' || Object.hasOwn(entries, name)) return;
    set({ ...entries, [name]: emptyOf({ ...field.entry, nullable: false }) });
    setName('');
  };
  return (
    <Stack gap="xs">
      {Object.keys(entries).map((key) => (
        <MapEntry
          key={key}
          field={{ ...field.entry, nullable: false, label: key }}
          path={[...path, key]}
          name={key}
          onRemove={
            readOnly
              ? undefined
              : () => {
                  const { [key]: _, ...others } = entries;
                  set(others);
                }
          }
        />
      ))}
      {error !== undefined && <Input.Error>{error}</Input.Error>}
      {!readOnly && (
        <Group gap="xs" wrap="nowrap">
          <TextInput
            size="xs"
            flex={1}
            maw={280}
            value={name}
            placeholder="Name"
            aria-label={`New entry of ${field.label}`}
            onChange={(event) => setName(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return;
              event.preventDefault();
              add();
            }}
          />
          <Button
            variant="default"
            size="xs"
            leftSection={<Plus size={14} />}
            disabled={name === ''}
            onClick={add}
          >
            Add
          </Button>
        </Group>
      )}
    </Stack>
  );
}

function MapEntry({
  field,
  path,
  name,
  onRemove,
}: {
  field: Field;
  path: Path;
  name: string;
  onRemove: (() => void) | undefined;
}) {
  const remove = onRemove && (
    <ActionIcon variant="subtle" color="red" size="sm" aria-label={`Remove ${name}`} onClick={onRemove}>
      <Trash2 size={14} />
    </ActionIcon>
  );
  const { errors } = useForm();
  const id = useId();
  if (isSection(field) || isWide(field))
    return <Row field={field} path={path} name={name} actions={remove} />;
  return (
    <Group gap="xs" wrap="nowrap" align="center">
      <Text component="label" htmlFor={id} size="sm" ff="monospace" w={180} truncate>
        {name}
      </Text>
      <Box flex={1}>
        <Control field={field} path={path} id={id} error={errors.get(pathKey(path))?.join(' ')} />
      </Box>
      {remove}
    </Group>
  );
}

function VariantControl({ field, path, id, error }: Kind<'variant'>) {
  const { shown, readOnly, set } = useControl(field, path);
  const kind = isObject(shown) && typeof shown[field.tag] === 'string' ? String(shown[field.tag]) : null;
  const chosen = field.variants.find(({ value }) => value === kind);
  return (
    <Stack gap="md">
      <Select
        id={id}
        aria-label={`${field.label}: ${labelOf(field.tag)}`}
        maw={320}
        value={kind}
        error={error}
        disabled={readOnly}
        allowDeselect={false}
        clearable={field.nullable}
        placeholder={field.nullable ? 'None' : 'Choose'}
        data={field.variants.map(({ value }) => ({ value, label: optionLabel(value) }))}
        onChange={(next) => set(next === null ? null : variantOf(field, next))}
      />
      {chosen && chosen.group.fields.length > 0 && <GroupFields group={chosen.group} path={path} />}
    </Stack>
  );
}
