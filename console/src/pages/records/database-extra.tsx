import { Button, Group, ScrollArea, Stack, Table, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { api, take, takeFile } from '../../api/client.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import type { Json } from '../../components/schema-form/form-value.ts';
import { isObject } from '../../components/schema-form/form-value.ts';
import type { ExtraProps } from './record-extras.tsx';

const SHOWN = 100;

/** The rows of a database as a grid, and all of them as a file. */
export default function DatabaseExtra({ record }: ExtraProps) {
  const id = String(record['id']);
  const rows = useQuery({
    queryKey: ['database-rows', id],
    queryFn: () =>
      take(
        api.GET('/v1/databases/{database_id}/rows', {
          params: { path: { database_id: id }, query: { limit: SHOWN } },
        }),
      ),
  });
  const save = useMutation({
    async mutationFn() {
      const file = await takeFile(`/v1/databases/${encodeURIComponent(id)}/export`);
      const link = document.createElement('a');
      link.href = URL.createObjectURL(file);
      link.download = `${String(record['name'])}.csv`;
      link.click();
      URL.revokeObjectURL(link.href);
    },
  });
  const items = (rows.data?.items ?? []) as unknown as Json[];
  const cells = items.map((row) =>
    isObject(row['values']) ? row['values'] : isObject(row['data']) ? row['data'] : row,
  );
  const columns = [...new Set(cells.flatMap((row) => Object.keys(row)))].slice(0, 30);
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Text size="sm" fw={600}>
          {rows.data ? `${rows.data.total} rows` : 'Rows'}
        </Text>
        <Button size="xs" variant="default" loading={save.isPending} onClick={() => save.mutate()}>
          Export as CSV
        </Button>
      </Group>
      {(rows.error ?? save.error) && <ErrorMessage error={rows.error ?? save.error} />}
      {items.length > 0 && (
        <ScrollArea.Autosize mah={360}>
          <Table withTableBorder withColumnBorders stickyHeader fz="xs">
            <Table.Thead>
              <Table.Tr>
                {columns.map((column) => (
                  <Table.Th key={column}>{column}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {cells.map((row, index) => (
                <Table.Tr key={index}>
                  {columns.map((column) => (
                    <Table.Td key={column} maw={240}>
                      <Text size="xs" lineClamp={2}>
                        {textOf(row[column])}
                      </Text>
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </ScrollArea.Autosize>
      )}
    </Stack>
  );
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
