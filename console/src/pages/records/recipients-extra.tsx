import { Button, Group, ScrollArea, Stack, Table, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take, takeFile } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { upload } from '../../api/upload.ts';
import { usePages } from '../../api/use-pages.ts';
import { useProject } from '../../app/project.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { DropFiles } from '../../components/drop-files.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { countOf, formatCount } from '../../components/format.ts';
import { Download } from '../../components/icons.ts';
import { LoadMore } from '../../components/load-more.tsx';
import { PeopleSearch, usePeopleSearch } from '../../components/people-search.tsx';
import { saveFile } from '../../components/save-file.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import type { ExtraProps } from './record-extras.tsx';

type Imported = components['schemas']['ImportedRecipients'];

/** The numbers of a list: page by page, one more by hand or many from a file, and all of them as a file. */
export default function RecipientsExtra({ record, onChanged }: ExtraProps) {
  const { can } = useProject();
  const queries = useQueryClient();
  const id = String(record['id']);
  const params = { path: { list_id: id } };
  const [number, setNumber] = useState('');
  const search = usePeopleSearch();
  const { filter } = search;
  const isFiltered = Object.keys(filter).length > 0;
  const numbers = usePages({
    queryKey: ['recipients', id, filter],
    read: (page) =>
      take(
        api.GET('/v1/recipient-lists/{list_id}/recipients', {
          params: { ...params, query: { ...page, ...filter } },
        }),
      ),
  });
  const changed = async () => {
    await queries.invalidateQueries({ queryKey: ['recipients', id] });
    onChanged();
  };
  const add = useMutation({
    mutationFn: () =>
      take(
        api.POST('/v1/recipient-lists/{list_id}/recipients', {
          params,
          body: { recipients: [{ phone_number: number.replace(/[\s().-]/g, '') }] },
        }),
      ),
    async onSuccess() {
      setNumber('');
      await changed();
    },
  });
  const read = useMutation({
    async mutationFn([file]: readonly File[]) {
      const form = new FormData();
      form.set('file', file!);
      return (await upload(`/v1/recipient-lists/${encodeURIComponent(id)}/import`, form)) as Imported;
    },
    onSettled: changed,
  });
  const save = useMutation({
    mutationFn: async () =>
      saveFile(
        await takeFile(`/v1/recipient-lists/${encodeURIComponent(id)}/export`),
        `${String(record['name'])}.csv`,
      ),
  });
  // From the org's own list only admins take a number off.
  const mayRemove = can(record['built_in'] === true ? 'administer' : 'edit');
  const error = add.error ?? read.error ?? save.error;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Text size="sm" fw={600} role="status">
          {numbers.items
            ? `${numbers.isCapped ? 'More than ' : ''}${countOf(numbers.total, 'number', 'numbers')}`
            : 'Numbers'}
        </Text>
        <Button
          size="xs"
          variant="default"
          leftSection={<Download size={14} />}
          loading={save.isPending}
          onClick={() => save.mutate()}
        >
          Export as CSV
        </Button>
      </Group>
      {can('edit') && (
        <>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (number.trim() !== '') add.mutate();
            }}
          >
            <Group gap="xs" wrap="nowrap">
              <TextInput
                flex={1}
                type="tel"
                aria-label="Number to add"
                placeholder="+14155550123"
                value={number}
                onChange={(event) => setNumber(event.currentTarget.value)}
              />
              <Button type="submit" variant="default" disabled={number.trim() === ''} loading={add.isPending}>
                Add
              </Button>
            </Group>
          </form>
          <DropFiles
            text="Drop a CSV file of numbers here: one in each row, with a header"
            choose="Choose a file"
            accept=".csv,text/csv,text/plain"
            busy={read.isPending}
            onFiles={(files) => read.mutate(files)}
          />
        </>
      )}
      {read.data && <Read found={read.data} />}
      {error && <ErrorMessage error={error} />}
      {numbers.error && <ErrorMessage error={numbers.error} onRetry={numbers.retry} />}
      {(search.typed !== '' || isFiltered || numbers.total > 0) && <PeopleSearch search={search} />}
      {isFiltered && numbers.items?.length === 0 && (
        <Text size="sm" c="dimmed" role="status">
          {filter.q === undefined ? 'This number is not in the list.' : 'Nobody in the list has this name.'}
        </Text>
      )}
      {numbers.items !== undefined && numbers.items.length > 0 && (
        <ScrollArea.Autosize mah={320}>
          <Table withTableBorder stickyHeader fz="xs" aria-label="Numbers">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Number</Table.Th>
                <Table.Th>Name</Table.Th>
                <Table.Th>State</Table.Th>
                {mayRemove && <Table.Th aria-label="Remove" />}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {numbers.items.map((one) => (
                <Table.Tr key={one.id}>
                  <Table.Td>
                    <bdi>{one.phone_number}</bdi>
                  </Table.Td>
                  <Table.Td maw={200}>
                    <Text size="xs" truncate>
                      <bdi>{one.name ?? one.reason ?? '–'}</bdi>
                    </Text>
                  </Table.Td>
                  <Table.Td>
                    <StatusBadge status={one.status} />
                  </Table.Td>
                  {mayRemove && (
                    <Table.Td ta="right">
                      <ConfirmButton
                        size="compact-xs"
                        title={`Remove ${one.phone_number}?`}
                        text={
                          record['kind'] === 'suppression'
                            ? 'It may be called again.'
                            : 'It is no longer in this list.'
                        }
                        confirm="Remove"
                        onConfirm={async () => {
                          await take(
                            api.DELETE('/v1/recipients/{recipient_id}', {
                              params: { path: { recipient_id: one.id } },
                            }),
                          );
                          await changed();
                        }}
                      >
                        Remove
                      </ConfirmButton>
                    </Table.Td>
                  )}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </ScrollArea.Autosize>
      )}
      {numbers.items && <LoadMore shown={numbers.items.length} {...numbers} />}
    </Stack>
  );
}

/** What became of a file. */
function Read({ found: { imported, updated, skipped, errors } }: { found: Imported }) {
  return (
    <div role="status">
      <Text size="sm">
        {formatCount(imported)} new, {formatCount(updated)} updated, {formatCount(skipped)} left as they are.
      </Text>
      {errors.slice(0, 5).map(({ row, loc, msg }) => (
        <Text key={`${row} ${loc.join('.')} ${msg}`} size="sm" c="red" style={{ overflowWrap: 'anywhere' }}>
          Row {row}: {[...loc, msg].join(' ')}
        </Text>
      ))}
    </div>
  );
}
