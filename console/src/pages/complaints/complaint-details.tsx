import { Alert, Button, FileButton, Group, Stack, Table, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { upload } from '../../api/upload.ts';
import { Upload } from '../../components/build-icons.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { inWords } from '../../components/format.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { WHAT_NOW, problemOf, takesProof, timeLeft } from './complaint-words.ts';
import type { Complaint } from './complaint-words.ts';

/** A complaint: what the carrier tells of it, what is to be done, and the way to hand in a proof. */
export function ComplaintDetails({ complaint, mayEdit }: { complaint: Complaint; mayEdit: boolean }) {
  const { status, rejection_reason, complaint_category, deadline_at } = complaint;
  const left = timeLeft(complaint);
  const facts: [string, string | undefined][] = [
    ['Who complains', complaint.to_number],
    ['Called from', complaint.from_number],
    ['About', complaint_category && inWords(complaint_category)],
    ['Began, as the carrier writes it', complaint.initiation_date],
    ['Reference', complaint.reference_id],
    ["The carrier's id of the call", complaint.call_uuid],
    ['Proof', complaint.opt_in_proof_url],
    ['Telephony account', complaint.telephony_account_id],
  ];
  return (
    <Stack gap="lg">
      <Group gap="sm">
        <StatusBadge status={status} />
        <Text size="sm" c="dimmed" component="div">
          Deadline <Time value={deadline_at} />
          {left !== null && `, ${left.toLowerCase()}`}
        </Text>
      </Group>
      <Text size="sm">{WHAT_NOW[status]}</Text>
      {rejection_reason !== undefined && (
        <Alert color="red" variant="light" title="Why the carrier refused the proof">
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {rejection_reason}
          </Text>
        </Alert>
      )}
      {takesProof(complaint) && mayEdit && <HandIn complaint={complaint} />}
      <Table fz="sm" withTableBorder>
        <Table.Tbody>
          {facts.map(
            ([label, value]) =>
              value !== undefined && (
                <Table.Tr key={label}>
                  <Table.Th w={190}>{label}</Table.Th>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
                </Table.Tr>
              ),
          )}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}

function HandIn({ complaint: { id, org_id } }: { complaint: Complaint }) {
  const queries = useQueryClient();
  const [file, setFile] = useState<File | null>(null);
  const [url, setUrl] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const send = useMutation({
    mutationFn: async () => {
      await (file ? sendFile(id, file) : sendLink(id, url.trim()));
    },
    // Refused, it may have changed meanwhile.
    onSettled: () => queries.invalidateQueries({ queryKey: ['complaints', org_id] }),
  });
  return (
    <form
      aria-label="Proof of consent"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const found = problemOf({ file, url });
        setProblem(found);
        if (found === null) send.mutate();
      }}
    >
      <Stack gap="sm">
        <Group gap="sm">
          <FileButton onChange={setFile}>
            {(props) => (
              <Button {...props} variant="default" leftSection={<Upload size={15} />}>
                {file ? 'Choose another file' : 'Choose a file'}
              </Button>
            )}
          </FileButton>
          <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {file ? file.name : 'At most 5 MiB. It is handed to the carrier and not kept.'}
          </Text>
          {file && (
            <Button variant="subtle" size="compact-sm" onClick={() => setFile(null)}>
              Remove
            </Button>
          )}
        </Group>
        <TextInput
          label="Or where it is"
          description="It is fetched at once and handed to the carrier."
          placeholder="https://crm.example.com/consents/42.pdf"
          type="url"
          maxLength={2048}
          disabled={file !== null}
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        {problem !== null && (
          <Text size="sm" c="red" role="alert">
            {problem}
          </Text>
        )}
        {send.error && <ErrorMessage error={send.error} />}
        <Group justify="flex-end">
          <Button type="submit" loading={send.isPending}>
            Hand in the proof
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function sendLink(id: string, opt_in_proof_url: string) {
  return take(
    api.POST('/v1/ucc-complaints/{ucc_id}/proof', {
      params: { path: { ucc_id: id } },
      body: { opt_in_proof_url },
    }),
  );
}

/** @throws ApiError */
async function sendFile(id: string, file: File): Promise<void> {
  const body = new FormData();
  body.set('file', file);
  await upload(`/v1/ucc-complaints/${encodeURIComponent(id)}/proof`, body);
}
