import './week.css';
import {
  ActionIcon,
  Button,
  Chip,
  Fieldset,
  Group,
  Input,
  Stack,
  TextInput,
  VisuallyHidden,
} from '@mantine/core';
import { Plus, Trash2 } from './build-icons.ts';
import { DAYS, clockOf, openOn } from './week-windows.ts';
import type { Day, Window } from './week-windows.ts';

const MOST_WINDOWS = 21;
const DAY_MINUTES = 24 * 60;

/** Times of a week: each day as a line, and the windows that they come from. */
export function Week({
  windows,
  onChange,
  readOnly = false,
  errorOf,
}: {
  windows: readonly Window[];
  onChange: (windows: Window[]) => void;
  readOnly?: boolean;
  /** What the server says against a window. */
  errorOf?: (index: number) => string | undefined;
}) {
  const setWindow = (at: number, part: Partial<Window>) =>
    onChange(windows.map((one, index) => (index === at ? { ...one, ...part } : one)));
  return (
    <Stack gap="sm">
      <WeekLines windows={windows} />
      {windows.map(({ days, start, end }, at) => (
        <Fieldset key={at} legend={`Window ${at + 1}`} disabled={readOnly}>
          <Group gap="md" align="flex-end">
            <Chip.Group
              multiple
              value={days}
              onChange={(next) =>
                setWindow(at, { days: DAYS.map(({ value }) => value).filter((day) => next.includes(day)) })
              }
            >
              <Group gap={6} role="group" aria-label="Days">
                {DAYS.map(({ value, label }) => (
                  <Chip key={value} value={value} size="xs">
                    {label}
                  </Chip>
                ))}
              </Group>
            </Chip.Group>
            <Group gap="xs" align="flex-end">
              <TextInput
                type="time"
                label="From"
                value={start}
                onChange={(event) => setWindow(at, { start: event.currentTarget.value })}
              />
              <TextInput
                type="time"
                label="To"
                // Browsers have no time for the end of a day.
                value={end === '24:00' ? '00:00' : end}
                onChange={({ currentTarget: { value } }) =>
                  setWindow(at, { end: value === '00:00' ? '24:00' : value })
                }
              />
              {windows.length > 1 && !readOnly && (
                <ActionIcon
                  size="lg"
                  aria-label={`Remove window ${at + 1}`}
                  onClick={() => onChange(windows.filter((_, index) => index !== at))}
                >
                  <Trash2 size={15} />
                </ActionIcon>
              )}
            </Group>
          </Group>
          {errorOf?.(at) !== undefined && <Input.Error mt="xs">{errorOf(at)}</Input.Error>}
        </Fieldset>
      ))}
      {!readOnly && (
        <div>
          <Button
            variant="default"
            size="xs"
            leftSection={<Plus size={14} />}
            disabled={windows.length >= MOST_WINDOWS}
            onClick={() => onChange([...windows, { days: ['sat'], start: '10:00', end: '14:00' }])}
          >
            Another window
          </Button>
        </div>
      )}
    </Stack>
  );
}

/** The days of a week as lines, midnight to midnight, with the times that are open. */
function WeekLines({ windows }: { windows: readonly Window[] }) {
  return (
    <dl className="week">
      {DAYS.map(({ value, label }) => (
        <Line key={value} label={label} day={value} windows={windows} />
      ))}
      <dt aria-hidden />
      <dd className="hours" aria-hidden>
        {['00', '06', '12', '18', '24'].map((hour) => (
          <span key={hour}>{hour}</span>
        ))}
      </dd>
    </dl>
  );
}

function Line({ label, day, windows }: { label: string; day: Day; windows: readonly Window[] }) {
  const open = openOn(day, windows);
  const text = open.map(({ from, to }) => `${clockOf(from)} to ${clockOf(to)}`).join(', ') || 'Closed';
  return (
    <>
      <dt>{label}</dt>
      <dd title={text}>
        <VisuallyHidden>{text}</VisuallyHidden>
        {open.map(({ from, to }) => (
          <span
            key={from}
            className="is-open"
            aria-hidden
            style={{
              insetInlineStart: `${(100 * from) / DAY_MINUTES}%`,
              width: `${(100 * (to - from)) / DAY_MINUTES}%`,
            }}
          />
        ))}
      </dd>
    </>
  );
}
