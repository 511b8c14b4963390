import {
  Button,
  Group,
  MultiSelect,
  NumberInput,
  Popover,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import type { TextInputProps } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import { useProject } from '../../app/project.ts';
import { ListFilter as FilterIcon, Search, X } from '../../components/icons.ts';
import { formatDuration } from '../../components/format.ts';
import { instantIn, localIn } from '../../components/zone-time.ts';
import { countFilters, parseDuration } from './call-filter.ts';
import type { CallFilter, CallSort, ListFilter, Period } from './call-filter.ts';
import { DIRECTION_WORDS, FAILURE_WORDS, HANGUP_WORDS, STATUS_WORDS } from './call-words.ts';

const options = (words: Readonly<Record<string, string>>) =>
  Object.entries(words).map(([value, label]) => ({ value, label }));

const PERIOD_OPTIONS: { value: Period; label: string }[] = [
  { value: 'today', label: 'Today' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
];
const SORT_OPTIONS: { value: CallSort; label: string }[] = [
  { value: '-created_at', label: 'Newest first' },
  { value: 'created_at', label: 'Oldest first' },
  { value: '-duration_seconds', label: 'Longest first' },
  { value: 'duration_seconds', label: 'Shortest first' },
];

/** How long after a key the list is asked for. */
const TYPED_MS = 200;

/** Narrows the list, as one types and chooses. */
export function FilterBar({
  filter,
  onChange,
  agents,
  campaigns,
}: {
  filter: CallFilter;
  onChange: (filter: CallFilter) => void;
  /** Names by id. */
  agents: ReadonlyMap<string, string>;
  campaigns: ReadonlyMap<string, string>;
}) {
  const { q: _, period: __, sort: ___, ...others } = filter;
  const more = countFilters(others);
  const set = (change: { [K in keyof CallFilter]?: CallFilter[K] | undefined }) =>
    onChange(changed(filter, change));
  const list = (name: ListFilter) => ({
    value: filter[name] ?? [],
    onChange: (values: string[]) => set({ [name]: values.length === 0 ? undefined : values }),
    clearable: true,
    searchable: true,
    openOnFocus: false,
    comboboxProps: { withinPortal: false },
  });
  function typed<Name extends keyof CallFilter>(name: Name, form: TypedForm<NonNullable<CallFilter[Name]>>) {
    return {
      form,
      value: filter[name],
      onChange: (value: CallFilter[Name] | undefined) => set({ [name]: value }),
    };
  }
  return (
    <Group gap="xs" align="flex-end">
      <TypedInput
        {...typed('q', TEXT)}
        aria-label="Search calls"
        placeholder="Number, name or ID of the caller"
        leftSection={<Search size={15} />}
        maxLength={100}
        style={{ flex: '1 1 240px' }}
      />
      <Select
        aria-label="Time"
        placeholder="Any time"
        data={PERIOD_OPTIONS}
        value={filter.period ?? null}
        onChange={(period) => set({ period: (period as Period | null) ?? undefined })}
        clearable
        w={160}
      />
      <Popover width={560} position="bottom-end" shadow="md" trapFocus>
        <Popover.Target>
          <Button variant="default" leftSection={<FilterIcon size={15} />}>
            Filters{more > 0 ? ` (${more})` : ''}
          </Button>
        </Popover.Target>
        <Popover.Dropdown maw="calc(100vw - 24px)" mah="70vh" style={{ overflow: 'auto' }}>
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
            <MultiSelect
              label="Agent"
              data={named(agents, filter.agent_id)}
              limit={100}
              {...list('agent_id')}
            />
            <NumberInput
              label="Agent version"
              min={1}
              allowDecimal={false}
              value={filter.agent_version ?? ''}
              onChange={(version) =>
                set({ agent_version: typeof version === 'number' && version >= 1 ? version : undefined })
              }
            />
            <MultiSelect label="Status" data={options(STATUS_WORDS)} {...list('status')} />
            <MultiSelect label="Direction" data={options(DIRECTION_WORDS)} {...list('direction')} />
            <MultiSelect label="How it ended" data={options(HANGUP_WORDS)} {...list('hangup_reason')} />
            <MultiSelect label="Why it failed" data={options(FAILURE_WORDS)} {...list('failure_reason')} />
            <TypedInput
              label="Said in the call"
              placeholder="refund order"
              description="Whole words, all of them, by either side"
              maxLength={200}
              {...typed('transcript', TEXT)}
            />
            <TypedInput label="Outcome" {...typed('outcome', LIST)} />
            <TypedInput label="Number, whole" placeholder="+14155550100" {...typed('phone_number', LIST)} />
            <MultiSelect
              label="Campaign"
              data={named(campaigns, filter.campaign_id)}
              limit={100}
              nothingFoundMessage="There is no such campaign"
              {...list('campaign_id')}
            />
            <TypedInput label="Language" placeholder="en-US" {...typed('language', LIST)} />
            <TypedInput label="Lasted at least" placeholder="1:30" {...typed('min_duration', DURATION)} />
            <TypedInput label="Lasted at most" placeholder="1:30" {...typed('max_duration', DURATION)} />
            <TimeInput
              label="From"
              value={filter.after}
              onChange={(after) => set({ after, period: undefined })}
            />
            <TimeInput
              label="Until"
              value={filter.before}
              onChange={(before) => set({ before, period: undefined })}
            />
            <Select
              label="Order"
              data={SORT_OPTIONS}
              value={filter.sort ?? '-created_at'}
              allowDeselect={false}
              onChange={(sort) =>
                set({ sort: sort === '-created_at' ? undefined : ((sort as CallSort | null) ?? undefined) })
              }
              comboboxProps={{ withinPortal: false }}
            />
          </SimpleGrid>
        </Popover.Dropdown>
      </Popover>
      {countFilters(filter) > 0 && (
        <Button variant="subtle" color="gray" leftSection={<X size={15} />} onClick={() => onChange({})}>
          Clear
        </Button>
      )}
    </Group>
  );
}

/** Records by their names, and those that are chosen but not listed, such as one that is gone, by their ids. */
function named(names: ReadonlyMap<string, string>, chosen: readonly string[] = []) {
  const unknown = chosen.filter((id) => !names.has(id));
  return [...names, ...unknown.map((id) => [id, id] as const)].map(([value, label]) => ({ value, label }));
}

/** Without what is undefined, so that it leaves the address. */
function changed(filter: CallFilter, change: object): CallFilter {
  return Object.fromEntries(
    Object.entries({ ...filter, ...change }).filter(([, value]) => value !== undefined),
  ) as CallFilter;
}

/** How a value stands in a field, and what is typed there means. */
interface TypedForm<Value> {
  write: (value: Value | undefined) => string;
  /** @returns undefined for nothing, and for what it does not understand */
  read: (text: string) => Value | undefined;
  /** What a text is to look like that is not understood. */
  hint?: string;
}

const TEXT: TypedForm<string> = {
  write: (text = '') => text,
  read: (text) => text.trim() || undefined,
};

const LIST: TypedForm<string[]> = {
  write: (values = []) => values.join(', '),
  read(text) {
    const values = text
      .split(',')
      .map((one) => one.trim())
      .filter(Boolean);
    return values.length === 0 ? undefined : values;
  },
};

const DURATION: TypedForm<number> = {
  write: (seconds) => (seconds === undefined ? '' : formatDuration(seconds)),
  read: parseDuration,
  hint: 'Such as 90, 1:30 or 2m',
};

/** A value that is told shortly after it was typed. */
function TypedInput<Value>({
  value,
  onChange,
  form: { write, read, hint },
  ...input
}: {
  value: Value | undefined;
  onChange: (value: Value | undefined) => void;
  form: TypedForm<Value>;
} & Omit<TextInputProps, 'value' | 'onChange' | 'form'>) {
  const told = write(value);
  const [text, setText] = useState(told);
  const isUnderstood = (typed: string) =>
    hint === undefined || typed.trim() === '' || read(typed) !== undefined;
  const tell = useDebouncedCallback(onChange, TYPED_MS);
  useEffect(() => {
    // From elsewhere: a view, the address, `Clear`. What is being typed may mean the same in other characters.
    setText((before) => (write(read(before)) === told ? before : told));
  }, [told]);
  return (
    <TextInput
      {...input}
      value={text}
      error={isUnderstood(text) ? undefined : hint}
      onChange={({ currentTarget: { value: next } }) => {
        setText(next);
        if (isUnderstood(next)) tell(read(next));
      }}
    />
  );
}

/** In the project's zone, as the list beside it tells times. */
function TimeInput({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  const { timezone } = useProject();
  return (
    <TextInput
      type="datetime-local"
      label={label}
      title={timezone}
      value={value === undefined ? '' : localIn(value, timezone)}
      onChange={({ currentTarget: { value: local } }) =>
        onChange(local === '' ? undefined : instantIn(local, timezone))
      }
    />
  );
}

/** What stands above the list about it. */
export function CallCount({ total }: { total: { count: number; capped: boolean } | undefined }) {
  return (
    <Stack gap={0}>
      <Text size="sm" c="dimmed" role="status" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {total === undefined
          ? ' '
          : `${total.count.toLocaleString('en-GB')}${total.capped ? '+' : ''} ${total.count === 1 ? 'call' : 'calls'}`}
      </Text>
    </Stack>
  );
}
