import { Alert, Button, Progress, Stack, Table, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, take, takeFile } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { upload } from '../../api/upload.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatCount } from '../../components/format.ts';
import { Download } from '../../components/icons.ts';
import { saveFile } from '../../components/save-file.ts';
import { fileOf } from './csv-choice.tsx';
import type { ChosenCsv } from './csv-choice.tsx';
import { readCsv } from './csv-preview.ts';

type Import = components['schemas']['Import'];

const EVERY_MS = 1000;
/** Bad rows that are told in the page; the report has all. */
const ERRORS_SHOWN = 10;

/** Sends a file of people; its rows are read after the answer. @throws ApiError */
export async function beginImport(campaignId: string, chosen: ChosenCsv): Promise<Import> {
  const body = new FormData();
  // Fields come before the file: the server reads them in their order.
  if (chosen.country !== '') body.set('default_country', chosen.country);
  body.set('file', fileOf(chosen));
  const answer = await upload(
    `/v1/campaigns/${encodeURIComponent(campaignId)}/contacts/import?async=true`,
    body,
  );
  return answer as Import;
}

/** How far an import is, and then what became of its rows, with those that are bad. */
export function ImportProgress({ importId, onDone }: { importId: string; onDone: () => void }) {
  const query = useQuery({
    queryKey: ['import', importId],
    queryFn: () => take(api.GET('/v1/imports/{import_id}', { params: { path: { import_id: importId } } })),
    refetchInterval: ({ state: { data } }) => (data && isOver(data) ? false : EVERY_MS),
  });
  const found = query.data;
  const over = found !== undefined && isOver(found);
  useEffect(() => {
    if (over) onDone();
    // Once for each import.
  }, [over, importId]);
  const errors = useQuery({
    queryKey: ['import-errors', importId],
    enabled: over && found.error_count > 0,
    queryFn: async () =>
      readCsv(await (await takeFile(`/v1/imports/${importId}/errors`)).text(), ERRORS_SHOWN + 1).slice(1),
  });
  const save = useMutation({
    mutationFn: async () =>
      saveFile(await takeFile(`/v1/imports/${importId}/errors`), `${found?.name ?? importId} - bad rows.csv`),
  });
  if (query.error) return <ErrorMessage error={query.error} onRetry={() => void query.refetch()} />;
  if (!found) return <Progress value={100} animated aria-label="Sending the file" />;
  return (
    <Stack gap="sm">
      {!over && <Progress value={100} animated aria-label="Reading the rows" />}
      <Text size="sm" role="status">
        {over ? '' : 'Reading: '}
        {formatCount(found.rows)} {found.rows === 1 ? 'row' : 'rows'}: {formatCount(found.imported)} new,{' '}
        {formatCount(found.updated)} updated, {formatCount(found.skipped)} left as they are,{' '}
        {formatCount(found.error_count)} bad.
      </Text>
      {found.status === 'failed' && (
        <Alert color="red" variant="light" role="alert" title="It stopped before the end">
          {found.error}
        </Alert>
      )}
      {errors.data && errors.data.length > 0 && (
        <>
          <Table fz="xs" withTableBorder>
            <Table.Thead>
              <Table.Tr>
                <Table.Th w={60}>Row</Table.Th>
                <Table.Th w={140}>Column</Table.Th>
                <Table.Th>What is wrong</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {errors.data.map(([row, column, problem], index) => (
                <Table.Tr key={index}>
                  <Table.Td>{row}</Table.Td>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>{column}</Table.Td>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>{problem}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
          <div>
            <Button
              variant="default"
              size="xs"
              leftSection={<Download size={14} />}
              loading={save.isPending}
              onClick={() => save.mutate()}
            >
              All {formatCount(found.error_count)} as CSV
            </Button>
          </div>
        </>
      )}
      {(errors.error ?? save.error) && <ErrorMessage error={errors.error ?? save.error} />}
    </Stack>
  );
}

function isOver({ status }: Import): boolean {
  return status === 'done' || status === 'failed';
}
