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
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import { ListFilter as FilterIcon, Search, X } from '../../components/icons.ts';
import { formatDuration } from '../../components/format.ts';
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
}: {
  filter: CallFilter;
  onChange: (filter: CallFilter) => void;
  agents: ReadonlyMap<string, string>;
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
  return (
    <Group gap="xs" align="flex-end">
      <TypedText
        value={filter.q ?? ''}
        onChange={(q) => set({ q: q === '' ? undefined : q })}
        placeholder="Number, name or ID of the caller"
        label="Search calls"
        grow
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
              data={[...agents].map(([value, label]) => ({ value, label }))}
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
            <TypedList label="Outcome" values={filter.outcome} onChange={(outcome) => set({ outcome })} />
            <TypedList
              label="Number, whole"
              values={filter.phone_number}
              onChange={(phone_number) => set({ phone_number })}
              placeholder="+14155550100"
            />
            <TypedList
              label="Campaign ID"
              values={filter.campaign_id}
              onChange={(campaign_id) => set({ campaign_id })}
              placeholder="cmp_…"
            />
            <TypedList
              label="Language"
              values={filter.language}
              onChange={(language) => set({ language })}
              placeholder="en-US"
            />
            <DurationInput
              label="Lasted at least"
              seconds={filter.min_duration}
              onChange={(min_duration) => set({ min_duration })}
            />
            <DurationInput
              label="Lasted at most"
              seconds={filter.max_duration}
              onChange={(max_duration) => set({ max_duration })}
            />
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

/** Without what is undefined, so that it leaves the address. */
function changed(filter: CallFilter, change: object): CallFilter {
  return Object.fromEntries(
    Object.entries({ ...filter, ...change }).filter(([, value]) => value !== undefined),
  ) as CallFilter;
}

/** A text that is told shortly after it was typed. */
function TypedText({
  value,
  onChange,
  placeholder,
  label,
  grow = false,
}: {
  value: string;
  onChange: (value: string) => void;
  placeholder: string;
  label: string;
  grow?: boolean;
}) {
  const [text, setText] = useState(value);
  const tell = useDebouncedCallback(onChange, TYPED_MS);
  useEffect(() => {
    // From elsewhere: a view, the address, `Clear`. What is being typed has blanks at its end that the address has not.
    setText((before) => (before.trim() === value ? before : value));
  }, [value]);
  return (
    <TextInput
      aria-label={label}
      placeholder={placeholder}
      leftSection={<Search size={15} />}
      value={text}
      maxLength={100}
      onChange={(event) => {
        const next = event.currentTarget.value;
        setText(next);
        tell(next.trim());
      }}
      style={grow ? { flex: '1 1 240px' } : {}}
    />
  );
}

function TypedList({
  label,
  values,
  onChange,
  placeholder,
}: {
  label: string;
  values: readonly string[] | undefined;
  onChange: (values: string[] | undefined) => void;
  placeholder?: string;
}) {
  const told = (values ?? []).join(', ');
  const [text, setText] = useState(told);
  const tell = useDebouncedCallback((next: string) => {
    const list = next
      .split(',')
      .map((one) => one.trim())
      .filter(Boolean);
    onChange(list.length === 0 ? undefined : list);
  }, TYPED_MS);
  useEffect(() => {
    setText((before) => (listed(before) === told ? before : told));
  }, [told]);
  return (
    <TextInput
      label={label}
      {...(placeholder !== undefined && { placeholder })}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        tell(event.currentTarget.value);
      }}
    />
  );
}

function listed(text: string): string {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean)
    .join(', ');
}

function DurationInput({
  label,
  seconds,
  onChange,
}: {
  label: string;
  seconds: number | undefined;
  onChange: (seconds: number | undefined) => void;
}) {
  const told = seconds === undefined ? '' : formatDuration(seconds);
  const [text, setText] = useState(told);
  const understood = text.trim() === '' || parseDuration(text) !== undefined;
  useEffect(() => {
    setText((before) => (parseDuration(before) === seconds ? before : told));
  }, [seconds, told]);
  return (
    <TextInput
      label={label}
      placeholder="1:30"
      value={text}
      error={understood ? undefined : 'Such as 90, 1:30 or 2m'}
      onChange={(event) => {
        const next = event.currentTarget.value;
        setText(next);
        if (next.trim() === '' || parseDuration(next) !== undefined) onChange(parseDuration(next));
      }}
    />
  );
}

/** In the time of this computer, as the browser's own field has it. */
function TimeInput({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  return (
    <TextInput
      type="datetime-local"
      label={label}
      value={value === undefined ? '' : localTime(value)}
      onChange={(event) => {
        const at = new Date(event.currentTarget.value);
        onChange(Number.isNaN(at.getTime()) ? undefined : at.toISOString());
      }}
    />
  );
}

function localTime(iso: string): string {
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
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
