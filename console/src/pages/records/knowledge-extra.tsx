import { Button, Card, Group, Stack, Table, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { upload } from '../../api/upload.ts';
import { usePages } from '../../api/use-pages.ts';
import { useProject } from '../../app/project.ts';
import { Search } from '../../components/build-icons.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { DropFiles } from '../../components/drop-files.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { inWords } from '../../components/format.ts';
import { LoadMore } from '../../components/load-more.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import type { ExtraProps } from './record-extras.tsx';

const WHILE_WORKING_MS = 1500;

/** Documents by dropping, and a question to see what agents would find. */
export default function KnowledgeExtra({ record, onChanged }: ExtraProps) {
  const { can } = useProject();
  const [question, setQuestion] = useState('');
  const params = { path: { kb_id: String(record['id']) } };
  const files = usePages({
    queryKey: ['knowledge-files', record['id']],
    read: (page) =>
      take(api.GET('/v1/knowledge-bases/{kb_id}/files', { params: { ...params, query: page } })),
    everyMs: (all) =>
      all.some(({ status }) => !['ready', 'failed'].includes(status)) ? WHILE_WORKING_MS : false,
  });
  const add = useMutation({
    async mutationFn(chosen: readonly File[]) {
      for (const file of chosen) {
        const body = new FormData();
        body.set('file', file);
        await upload(`/v1/knowledge-bases/${encodeURIComponent(params.path.kb_id)}/files`, body);
      }
    },
    async onSettled() {
      await files.refetch();
      onChanged();
    },
  });
  const again = useMutation({
    mutationFn: (file_id: string) =>
      take(api.POST('/v1/knowledge-files/{file_id}/reprocess', { params: { path: { file_id } } })),
    onSettled: () => files.refetch(),
  });
  async function remove(file_id: string) {
    await take(api.DELETE('/v1/knowledge-files/{file_id}', { params: { path: { file_id } } }));
    await files.refetch();
    onChanged();
  }
  const search = useMutation({
    mutationFn: () =>
      take(api.POST('/v1/knowledge-bases/{kb_id}/search', { params, body: { query: question } as never })),
  });
  return (
    <Stack>
      {can('edit') && (
        <DropFiles
          text="Drop documents here"
          choose="Choose files"
          multiple
          busy={add.isPending}
          onFiles={(chosen) => add.mutate(chosen)}
        />
      )}
      {add.error && <ErrorMessage error={add.error} />}
      {again.error && <ErrorMessage error={again.error} />}
      {files.error && <ErrorMessage error={files.error} onRetry={files.retry} />}
      {files.items !== undefined && files.items.length > 0 && (
        <Table>
          <Table.Tbody>
            {files.items.map((file) => (
              <Table.Tr key={file.id}>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  {file.name}
                  {file.error !== null && (
                    <Text size="xs" c="var(--mantine-color-error)">
                      {inWords(file.error)}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td ta="right">
                  <StatusBadge status={file.status} />
                </Table.Td>
                {can('edit') && (
                  <Table.Td ta="right">
                    <Group gap="xs" justify="flex-end">
                      {file.status === 'failed' && (
                        <Button
                          variant="default"
                          size="compact-xs"
                          loading={again.isPending && again.variables === file.id}
                          onClick={() => again.mutate(file.id)}
                        >
                          Read again
                        </Button>
                      )}
                      <ConfirmButton
                        size="compact-xs"
                        title={`Remove ${file.name}?`}
                        text="Agents find nothing of it any more. It can be uploaded again."
                        confirm="Remove"
                        onConfirm={() => remove(file.id)}
                      >
                        Remove
                      </ConfirmButton>
                    </Group>
                  </Table.Td>
                )}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {files.items && <LoadMore shown={files.items.length} {...files} />}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          search.mutate();
        }}
      >
        <Group gap="xs" wrap="nowrap">
          <TextInput
            flex={1}
            placeholder="Ask as a caller would"
            aria-label="Test question"
            leftSection={<Search size={14} />}
            value={question}
            onChange={(event) => setQuestion(event.currentTarget.value)}
          />
          <Button
            type="submit"
            variant="default"
            disabled={question.trim() === ''}
            loading={search.isPending}
          >
            Ask
          </Button>
        </Group>
      </form>
      {search.error && <ErrorMessage error={search.error} />}
      {search.data?.items.length === 0 && (
        <Text size="sm" c="dimmed">
          No passage fits.
        </Text>
      )}
      {search.data?.items.map((passage, index) => (
        <Card key={index} withBorder radius="md" p="sm">
          <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            <bdi>{passage.file_name}</bdi>
            {passage.heading && (
              <>
                {' › '}
                <bdi>{passage.heading}</bdi>
              </>
            )}{' '}
            · score {passage.score.toFixed(2)}
          </Text>
          <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
            {passage.text}
          </Text>
        </Card>
      ))}
    </Stack>
  );
}
