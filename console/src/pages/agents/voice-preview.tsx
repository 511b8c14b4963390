import { Button, Group, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Volume2 } from '../../components/build-icons.ts';
import { useEffect, useRef, useState } from 'react';
import { authorizedFetch } from '../../api/client.ts';
import { toApiError } from '../../api/api-error.ts';
import { apiUrl } from '../../api/page-settings.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { getAt } from '../../components/schema-form/form-value.ts';
import type { Json } from '../../components/schema-form/form-value.ts';
import { useChoices } from '../../components/schema-form/references.ts';

/** Speaks a sentence with the voice that is chosen in the form. */
export function VoicePreview({ value }: { value: Json }) {
  const voiceId = typeof value['tts_voice_id'] === 'string' ? value['tts_voice_id'] : undefined;
  const voices = useChoices('voice');
  const speed = getAt(value, ['config', 'tts', 'speed']);
  const greeting = typeof value['greeting'] === 'string' ? value['greeting'] : '';
  if (voiceId === undefined) return null;
  const name = voices.find((voice) => voice.value === voiceId)?.label ?? 'the voice';
  return (
    <SpeakSample
      voiceId={voiceId}
      label={`Hear ${name}`}
      initial={greeting.replace(/\{\{([^|}]*)\|?([^}]*)\}\}/g, '$2').slice(0, 1000)}
      speed={typeof speed === 'number' ? speed : undefined}
    />
  );
}

/** A sentence of yours, spoken by a voice. */
export function SpeakSample({
  voiceId,
  label,
  initial,
  speed,
}: {
  voiceId: string;
  label: string;
  initial: string;
  speed?: number | undefined;
}) {
  const { projectId } = useProject();
  const [text, setText] = useState(initial || 'Good morning, how can I help you?');
  const player = useRef<HTMLAudioElement | null>(null);
  useEffect(
    () => () => {
      player.current?.pause();
    },
    [],
  );
  const speak = useMutation({
    async mutationFn() {
      const query = new URLSearchParams({ project_id: projectId });
      const response = await authorizedFetch(
        new Request(`${apiUrl}/v1/voices/${encodeURIComponent(voiceId)}/speak?${query.toString()}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ text, format: 'wav', ...(speed !== undefined && { speed }) }),
        }),
      );
      if (!response.ok) {
        const body: unknown = await response.json().catch(() => null);
        throw toApiError(response.status, body, response.headers.get('x-request-id'));
      }
      const url = URL.createObjectURL(await response.blob());
      player.current?.pause();
      const audio = new Audio(url);
      player.current = audio;
      audio.addEventListener('ended', () => URL.revokeObjectURL(url), { once: true });
      await audio.play();
    },
  });
  return (
    <div>
      <Group gap="xs" wrap="nowrap">
        <TextInput
          flex={1}
          value={text}
          maxLength={1000}
          aria-label="Sentence to speak"
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button
          variant="default"
          leftSection={<Volume2 size={16} />}
          loading={speak.isPending}
          disabled={text.trim() === ''}
          onClick={() => speak.mutate()}
        >
          {label}
        </Button>
      </Group>
      {speak.error && <ErrorMessage error={speak.error} />}
    </div>
  );
}
