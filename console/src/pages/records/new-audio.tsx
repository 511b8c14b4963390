import { Button, Group, Select, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { upload } from '../../api/upload.ts';
import { useProject } from '../../app/project.ts';
import { DropFiles } from '../../components/drop-files.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { inWords } from '../../components/format.ts';
import type { NewRecordProps } from './record-extras.tsx';

const KINDS = ['greeting', 'hold', 'background', 'filler', 'voicemail', 'other'];

/** Uploads a sound. */
export default function NewAudio({ onChanged, onDone }: NewRecordProps) {
  const { orgId, projectId } = useProject();
  const [file, setFile] = useState<File | null>(null);
  const [name, setName] = useState('');
  const [kind, setKind] = useState('greeting');
  const [transcript, setTranscript] = useState('');
  const send = useMutation({
    mutationFn: (sound: File) => {
      const form = new FormData();
      // Fields come before the file, which is read as a stream.
      form.set('name', name.trim());
      form.set('kind', kind);
      if (transcript.trim() !== '') form.set('transcript', transcript.trim());
      form.set('file', sound);
      return upload(`/v1/orgs/${orgId}/projects/${projectId}/audio-assets`, form);
    },
    onSuccess() {
      onChanged();
      onDone();
    },
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (file) send.mutate(file);
      }}
    >
      <Stack>
        <DropFiles
          text={file ? file.name : 'Drop a WAV, MP3 or Ogg file here: 20 MiB and 10 minutes at most'}
          choose={file ? 'Choose another file' : 'Choose a file'}
          accept="audio/*,.wav,.mp3,.ogg,.opus"
          onFiles={([chosen]) => {
            setFile(chosen!);
            if (name === '') setName(chosen!.name.replace(/\.[^.]+$/, '').slice(0, 120));
          }}
        />
        <TextInput
          label="Name"
          maxLength={120}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Select
          label="What it is meant for"
          allowDeselect={false}
          data={KINDS.map((value) => ({ value, label: inWords(value) }))}
          value={kind}
          onChange={(value) => value !== null && setKind(value)}
        />
        <Textarea
          label="What is said in it"
          description="It stands in the transcripts of calls that play it."
          autosize
          minRows={2}
          maxLength={5000}
          value={transcript}
          onChange={(event) => setTranscript(event.currentTarget.value)}
        />
        {send.error && <ErrorMessage error={send.error} />}
        <Group justify="flex-end">
          {file === null && (
            <Text size="sm" c="dimmed">
              Choose a file first.
            </Text>
          )}
          <Button type="submit" disabled={file === null || name.trim() === ''} loading={send.isPending}>
            Upload
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
