import { Button, Card, FileButton, Group, Stack, Table, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { DragEvent } from 'react';
import { toApiError } from '../../api/api-error.ts';
import { api, authorizedFetch, take } from '../../api/client.ts';
import { apiUrl } from '../../api/page-settings.ts';
import { useProject } from '../../app/project.ts';
import { Search, Upload } from '../../components/build-icons.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import type { ExtraProps } from './record-extras.tsx';

const WHILE_WORKING_MS = 1500;

/** Documents by dropping, and a question to see what agents would find. */
export default function KnowledgeExtra({ record, onChanged }: ExtraProps) {
  const { can } = useProject();
  const [isOver, setIsOver] = useState(false);
  const [question, setQuestion] = useState('');
  const params = { path: { kb_id: String(record['id']) } };
  const files = useQuery({
    queryKey: ['knowledge-files', record['id']],
    queryFn: () =>
      take(api.GET('/v1/knowledge-bases/{kb_id}/files', { params: { ...params, query: { limit: 200 } } })),
    refetchInterval: ({ state }) =>
      state.data?.items.some(({ status }) => !['ready', 'failed'].includes(status))
        ? WHILE_WORKING_MS
        : false,
  });
  const upload = useMutation({
    async mutationFn(chosen: readonly File[]) {
      for (const file of chosen) {
        const body = new FormData();
        body.set('file', file);
        const address = `${apiUrl}/v1/knowledge-bases/${encodeURIComponent(params.path.kb_id)}/files`;
        const response = await authorizedFetch(new Request(address, { method: 'POST', body }));
        if (!response.ok) {
          const answer: unknown = await response.json().catch(() => null);
          throw toApiError(response.status, answer, response.headers.get('x-request-id'));
        }
      }
    },
    async onSettled() {
      await files.refetch();
      onChanged();
    },
  });
  const search = useMutation({
    mutationFn: () =>
      take(api.POST('/v1/knowledge-bases/{kb_id}/search', { params, body: { query: question } as never })),
  });
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    upload.mutate([...event.dataTransfer.files]);
  };
  return (
    <Stack>
      {can('edit') && (
        <Card
          withBorder
          radius="md"
          p="lg"
          ta="center"
          style={{
            borderStyle: 'dashed',
            ...(isOver && { background: 'var(--mantine-primary-color-light)' }),
          }}
          onDragOver={(event) => {
            event.preventDefault();
            setIsOver(true);
          }}
          onDragLeave={() => setIsOver(false)}
          onDrop={drop}
        >
          <Text size="sm" mb="xs">
            Drop documents here
          </Text>
          <FileButton multiple onChange={(chosen) => chosen.length > 0 && upload.mutate(chosen)}>
            {(props) => (
              <Button
                {...props}
                variant="default"
                size="xs"
                leftSection={<Upload size={14} />}
                loading={upload.isPending}
              >
                Choose files
              </Button>
            )}
          </FileButton>
        </Card>
      )}
      {upload.error && <ErrorMessage error={upload.error} />}
      {files.error && <ErrorMessage error={files.error} onRetry={() => void files.refetch()} />}
      {(files.data?.items.length ?? 0) > 0 && (
        <Table>
          <Table.Tbody>
            {files.data?.items.map((file) => (
              <Table.Tr key={file.id}>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{file.name}</Table.Td>
                <Table.Td ta="right">
                  <StatusBadge status={file.status} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
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
          <Text size="xs" c="dimmed">
            Score {passage.score.toFixed(2)}
          </Text>
          <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
            {passage.text}
          </Text>
        </Card>
      ))}
    </Stack>
  );
}
