import {
  Chip,
  Group,
  Input,
  JsonInput,
  MultiSelect,
  NumberInput,
  PasswordInput,
  SegmentedControl,
  Select,
  Switch,
  TagsInput,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useState } from 'react';
import { optionLabel } from './field.ts';
import { isObject } from './form-value.ts';
import { referenceKindOf } from './reference-kind.ts';
import { useChoices } from './references.ts';
import { useControl } from './use-control.ts';
import type { ControlProps, Kind } from './use-control.ts';

export function TextControl({ field, path, id, error }: Kind<'text'>) {
  const { shown, readOnly, set } = useControl(field, path);
  const kind = referenceKindOf(field.key);
  if (kind) return <ReferenceControl field={field} path={path} id={id} error={error} />;
  const text = typeof shown === 'string' ? shown : '';
  const isUnset = field.nullable || (!field.required && field.fallback === undefined);
  const write = (next: string) => set(next !== '' || !isUnset ? next : field.nullable ? null : undefined);
  const common = {
    id,
    value: text,
    error,
    readOnly,
    ...(field.maxLength !== undefined && { maxLength: field.maxLength }),
    ...(field.example !== '' && { placeholder: field.example }),
    onChange: (event: { currentTarget: { value: string } }) => write(event.currentTarget.value),
  };
  return field.long ? (
    <Textarea {...common} autosize minRows={2} maxRows={16} />
  ) : (
    <TextInput {...common} {...(field.format === 'uri' && { type: 'url', inputMode: 'url' as const })} />
  );
}

function ReferenceControl({ field, path, id, error }: ControlProps) {
  const { shown, readOnly, set } = useControl(field, path);
  const choices = useChoices(referenceKindOf(field.key));
  const value = typeof shown === 'string' && shown !== '' ? shown : null;
  const isKnown = value === null || choices.some((one) => one.value === value);
  return (
    <Select
      id={id}
      value={value}
      data={isKnown ? [...choices] : [{ value, label: value }, ...choices]}
      error={error}
      disabled={readOnly}
      searchable
      clearable={field.nullable || !field.required}
      limit={100}
      nothingFoundMessage="Nothing found"
      placeholder={field.nullable ? 'Default' : 'Choose'}
      onChange={(next) => set(next ?? (field.nullable ? null : undefined))}
    />
  );
}

export function SecretControl({ field, path, id, error }: Kind<'secret'>) {
  const { shown, readOnly, set } = useControl(field, path);
  const masked = isObject(shown) && shown['set'] === true ? `•••• ${String(shown['last_four'])}` : '';
  return (
    <PasswordInput
      id={id}
      value={typeof shown === 'string' ? shown : ''}
      placeholder={masked === '' ? 'Secret' : `${masked} (kept unless you type)`}
      error={error}
      readOnly={readOnly}
      autoComplete="off"
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}

export function NumberControl({ field, path, id, error }: Kind<'number'>) {
  const { shown, readOnly, set } = useControl(field, path);
  const bounds =
    field.min !== undefined && field.max !== undefined
      ? `${field.min.toLocaleString('en')} to ${field.max.toLocaleString('en')}`
      : '';
  return (
    <NumberInput
      id={id}
      value={typeof shown === 'number' || typeof shown === 'string' ? shown : ''}
      error={error}
      readOnly={readOnly}
      allowDecimal={!field.integer}
      clampBehavior="none"
      {...(field.min !== undefined && { min: field.min })}
      {...(field.max !== undefined && { max: field.max })}
      step={field.integer ? 1 : 0.1}
      placeholder={field.nullable ? 'Not set' : bounds}
      {...(field.unit !== '' && { suffix: ` ${field.unit}` })}
      {...(bounds !== '' && { title: bounds })}
      onChange={(next) => set(next === '' ? (field.nullable ? null : undefined) : next)}
    />
  );
}

export function SwitchControl({ field, path, id, error }: Kind<'switch'>) {
  const { shown, readOnly, set } = useControl(field, path);
  if ((field.nullable || !field.required) && field.fallback === undefined) {
    return (
      <SegmentedControl
        id={id}
        disabled={readOnly}
        value={shown === true ? 'yes' : shown === false ? 'no' : 'default'}
        data={[
          { value: 'default', label: 'Default' },
          { value: 'yes', label: 'Yes' },
          { value: 'no', label: 'No' },
        ]}
        onChange={(next) => set(next !== 'default' ? next === 'yes' : field.nullable ? null : undefined)}
      />
    );
  }
  return (
    <Group justify="flex-end">
      <Switch
        id={id}
        checked={shown === true}
        error={error}
        disabled={readOnly}
        aria-label={field.label}
        onChange={(event) => set(event.currentTarget.checked)}
      />
    </Group>
  );
}

/** As many fit beside each other. */
const SEGMENTS = 3;

export function ChoiceControl({ field, path, id, error }: Kind<'choice'>) {
  const { shown, readOnly, set } = useControl(field, path);
  const data = field.options.map((value) => ({ value, label: value === '' ? 'None' : optionLabel(value) }));
  const value = typeof shown === 'string' ? shown : null;
  const letters = data.reduce((sum, { label }) => sum + label.length, 0);
  if (data.length <= SEGMENTS && letters < 26 && !field.nullable && value !== null) {
    return (
      <Input.Wrapper error={error}>
        <SegmentedControl
          id={id}
          fullWidth
          disabled={readOnly}
          aria-label={field.label}
          value={value}
          data={data}
          onChange={set}
        />
      </Input.Wrapper>
    );
  }
  return (
    <Select
      id={id}
      value={value}
      data={data}
      error={error}
      disabled={readOnly}
      allowDeselect={false}
      clearable={field.nullable || !field.required}
      placeholder={field.nullable || !field.required ? 'Default' : 'Choose'}
      onChange={(next) => set(next ?? (field.nullable ? null : undefined))}
    />
  );
}

export function ChoicesControl({ field, path, id, error }: Kind<'choices'>) {
  const { shown, readOnly, set } = useControl(field, path);
  const values = Array.isArray(shown) ? shown.map(String) : [];
  const inOrder = (next: string[]) => set(field.options.filter((option) => next.includes(option)));
  return (
    <Input.Wrapper error={error}>
      <Chip.Group multiple value={values} onChange={inOrder}>
        <Group gap={6} id={id} role="group" aria-label={field.label}>
          {field.options.map((option) => (
            <Chip key={option} value={option} size="xs" radius="sm" disabled={readOnly}>
              {optionLabel(option)}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
    </Input.Wrapper>
  );
}

export function TextsControl({ field, path, id, error }: Kind<'texts'>) {
  const { shown, readOnly, set } = useControl(field, path);
  const kind = referenceKindOf(field.key);
  const choices = useChoices(kind);
  const values = Array.isArray(shown) ? shown.map(String) : [];
  const empty = () => (field.nullable ? null : []);
  const common = {
    id,
    value: values,
    error,
    readOnly,
    ...(field.maxItems !== undefined && { maxTags: field.maxItems, maxValues: field.maxItems }),
    placeholder: values.length > 0 ? '' : field.nullable ? 'Default' : kind ? 'None' : 'Type and press Enter',
    onChange: (next: string[]) => set(next.length === 0 ? empty() : next),
  };
  if (kind) {
    const { maxTags: _, ...rest } = common as typeof common & { maxTags?: number };
    const unknown = values.filter((value) => !choices.some((one) => one.value === value));
    return (
      <MultiSelect
        {...rest}
        data={[...choices, ...unknown.map((value) => ({ value, label: value }))]}
        searchable
        clearable
        limit={100}
        nothingFoundMessage="Nothing found"
      />
    );
  }
  const { maxValues: _, ...rest } = common as typeof common & { maxValues?: number };
  return <TagsInput {...rest} splitChars={['\n']} clearable />;
}

export function JsonControl({ field, path, id, error }: Kind<'json'>) {
  const { shown, readOnly, set } = useControl(field, path);
  const [draft, setDraft] = useState<string | null>(null);
  const text = draft ?? (shown === undefined || shown === null ? '' : JSON.stringify(shown, null, 2));
  const problem =
    draft === null || draft.trim() === '' || isJson(draft) ? undefined : 'This is no valid JSON yet.';
  return (
    <JsonInput
      id={id}
      aria-label={field.label}
      value={text}
      error={error ?? problem}
      readOnly={readOnly}
      autosize
      minRows={2}
      maxRows={18}
      formatOnBlur
      placeholder="JSON"
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      onBlur={() => setDraft(null)}
      onChange={(next) => {
        setDraft(next);
        if (next.trim() === '') set(field.nullable ? null : undefined);
        else if (isJson(next)) set(JSON.parse(next));
      }}
    />
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
