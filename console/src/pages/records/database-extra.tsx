import { Button, Group, ScrollArea, Stack, Table, Text } from '@mantine/core';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { api, take, takeFile } from '../../api/client.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { countOf } from '../../components/format.ts';
import { LoadMore } from '../../components/load-more.tsx';
import { saveFile } from '../../components/save-file.ts';
import type { Json } from '../../components/schema-form/form-value.ts';
import { isObject } from '../../components/schema-form/form-value.ts';
import { gridColumns } from './database-grid.ts';
import type { ExtraProps } from './record-extras.tsx';

const PER_PAGE = 100;
/** Very many cells would be slow. */
const MOST_COLUMNS = 30;

/** The rows of a database as a grid, page by page, and all of them as a file. */
export default function DatabaseExtra({ record }: ExtraProps) {
  const id = String(record['id']);
  const rows = useInfiniteQuery({
    queryKey: ['database-rows', id],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor, signal }) =>
      take(
        api.GET('/v1/databases/{database_id}/rows', {
          params: {
            path: { database_id: id },
            query: { limit: PER_PAGE, ...(cursor !== undefined && { cursor }) },
          },
          signal,
        }),
      ),
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  const save = useMutation({
    async mutationFn() {
      const file = await takeFile(`/v1/databases/${encodeURIComponent(id)}/export`);
      saveFile(file, `${String(record['name'])}.csv`);
    },
  });
  const pages = rows.data?.pages ?? [];
  const items = pages.flatMap((page) => page.items as unknown as Json[]);
  const cells = items.map((row) =>
    isObject(row['values']) ? row['values'] : isObject(row['data']) ? row['data'] : row,
  );
  const all = gridColumns(record['columns'], cells);
  const columns = all.slice(0, MOST_COLUMNS);
  const total = pages.at(-1)?.total ?? 0;
  const isCapped = pages.at(-1)?.total_capped === true;
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Text size="sm" fw={600}>
          {rows.data ? `${isCapped ? 'More than ' : ''}${countOf(total, 'row', 'rows')}` : 'Rows'}
        </Text>
        <Button size="xs" variant="default" loading={save.isPending} onClick={() => save.mutate()}>
          Export as CSV
        </Button>
      </Group>
      {rows.error && <ErrorMessage error={rows.error} onRetry={() => void rows.refetch()} />}
      {save.error && <ErrorMessage error={save.error} />}
      {items.length > 0 && (
        <ScrollArea.Autosize mah={360} viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'Rows' }}>
          <Table withTableBorder withColumnBorders stickyHeader fz="xs">
            <Table.Thead>
              <Table.Tr>
                {columns.map(({ key, label }) => (
                  <Table.Th key={key} title={key}>
                    {label}
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {cells.map((row, index) => (
                <Table.Tr key={index}>
                  {columns.map(({ key }) => (
                    <Table.Td key={key} maw={240}>
                      <Text size="xs" lineClamp={2}>
                        {textOf(row[key])}
                      </Text>
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </ScrollArea.Autosize>
      )}
      {items.length > 0 && all.length > columns.length && (
        <Text size="xs" c="dimmed">
          The first {columns.length} of {all.length} columns. The file has all.
        </Text>
      )}
      <LoadMore
        shown={items.length}
        total={total}
        isCapped={isCapped}
        hasMore={rows.hasNextPage}
        loadingMore={rows.isFetchingNextPage}
        loadMore={() => void rows.fetchNextPage()}
      />
    </Stack>
  );
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
