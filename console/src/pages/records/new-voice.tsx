import { Button, Checkbox, Group, Input, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, api, take } from '../../api/client.ts';
import { readAll } from '../../api/list-pages.ts';
import { upload } from '../../api/upload.ts';
import { useProject } from '../../app/project.ts';
import { DropFiles } from '../../components/drop-files.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { inWords } from '../../components/format.ts';
import { QueryContent } from '../../components/query-content.tsx';
import type { NewRecordProps } from './record-extras.tsx';

const MAX_FILES = 5;

interface Choice {
  value: string;
  label: string;
  disabled: boolean;
}

/** Clones a voice from recordings of somebody who agrees to it. */
export default function NewVoice(props: NewRecordProps) {
  const { orgId } = useProject();
  const models = useQuery({
    queryKey: ['models', 'cloning', orgId],
    queryFn: async () => {
      const all = await readAll((page) =>
        take(
          api.GET('/v1/providers/models', { params: { query: { kind: ['tts'], org_id: orgId, ...page } } }),
        ),
      );
      return all
        .filter(({ capabilities }) => capabilities.includes('voice_cloning'))
        .map(({ id, name, status }): Choice => {
          const isOpen = status === 'available';
          return { value: id, label: isOpen ? name : `${name} (${inWords(status)})`, disabled: !isOpen };
        });
    },
  });
  return (
    <QueryContent query={models}>
      {(choices) =>
        choices.length === 0 ? (
          <Text size="sm">No provider of this installation clones voices.</Text>
        ) : (
          <Form models={choices} {...props} />
        )
      }
    </QueryContent>
  );
}

function Form({ models, onChanged, onDone }: NewRecordProps & { models: readonly Choice[] }) {
  const { orgId } = useProject();
  const [files, setFiles] = useState<readonly File[]>([]);
  const [name, setName] = useState('');
  const [model, setModel] = useState<string | null>(null);
  const [language, setLanguage] = useState('');
  const [agreed, setAgreed] = useState(false);
  const send = useMutation({
    mutationFn: (ttsId: string) => {
      const form = new FormData();
      form.set('name', name.trim());
      form.set('tts_id', ttsId);
      form.set('language', language.trim());
      form.set('consent', String(agreed));
      form.set('org_id', orgId);
      for (const file of files) form.append('files', file);
      return upload('/v1/voices/clone', form);
    },
    onSuccess() {
      onChanged();
      onDone();
    },
  });
  const faults = send.error instanceof ApiError ? send.error.fields : [];
  const errorOf = (field: string) =>
    faults
      .filter(({ path }) => path[0] === field)
      .map(({ message }) => message)
      .join(' ') || undefined;
  const filesError = errorOf('files');
  const isWhole =
    files.length > 0 && name.trim() !== '' && language.trim() !== '' && model !== null && agreed;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (model !== null) send.mutate(model);
      }}
    >
      <Stack>
        <div>
          <DropFiles
            multiple
            text={
              files.length > 0
                ? files.map((file) => file.name).join(', ')
                : `Drop one to ${MAX_FILES} recordings of one speaker here: 10 MiB each at most`
            }
            choose={files.length > 0 ? 'Choose other files' : 'Choose files'}
            accept="audio/*"
            onFiles={(chosen) => setFiles(chosen.slice(0, MAX_FILES))}
          />
          {filesError !== undefined && <Input.Error mt={4}>{filesError}</Input.Error>}
        </div>
        <TextInput
          label="Name"
          maxLength={120}
          value={name}
          error={errorOf('name')}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Select
          label="Model"
          description="That is to speak with the voice. Its provider keeps the recordings."
          placeholder="Choose a model"
          searchable
          limit={100}
          allowDeselect={false}
          data={[...models]}
          value={model}
          error={errorOf('tts_id')}
          onChange={setModel}
        />
        <TextInput
          label="Language"
          description="That is spoken in the recordings."
          placeholder="en-US"
          maxLength={35}
          maw={240}
          value={language}
          error={errorOf('language')}
          onChange={(event) => setLanguage(event.currentTarget.value)}
        />
        <Checkbox
          label="The speaker agrees to the clone"
          checked={agreed}
          error={errorOf('consent')}
          onChange={(event) => setAgreed(event.currentTarget.checked)}
        />
        {send.error && faults.length === 0 && <ErrorMessage error={send.error} />}
        <Group justify="flex-end">
          {files.length === 0 && (
            <Text size="sm" c="dimmed">
              Choose recordings first.
            </Text>
          )}
          <Button type="submit" disabled={!isWhole} loading={send.isPending}>
            Clone
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
