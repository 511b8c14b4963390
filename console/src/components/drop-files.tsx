import { Button, Card, FileButton, Group, Text } from '@mantine/core';
import { useState } from 'react';
import type { DragEvent } from 'react';
import { Upload } from './build-icons.ts';

/** Files by dropping them here, or by choosing them. */
export function DropFiles({
  text,
  choose,
  accept,
  multiple = false,
  busy = false,
  onFiles,
}: {
  /** What may be dropped. */
  text: string;
  /** The button: a verb. */
  choose: string;
  /** As of `<input type=file>`. */
  accept?: string;
  multiple?: boolean;
  busy?: boolean;
  /** At least one. */
  onFiles: (files: readonly File[]) => void;
}) {
  const [isOver, setIsOver] = useState(false);
  const give = (files: readonly File[]) => files.length > 0 && onFiles(multiple ? files : files.slice(0, 1));
  const button = (props: { onClick: () => void }) => (
    <Button {...props} variant="default" size="xs" leftSection={<Upload size={14} />} loading={busy}>
      {choose}
    </Button>
  );
  const accepted = accept === undefined ? {} : { accept };
  return (
    <Card
      withBorder
      radius="md"
      p="lg"
      ta="center"
      style={{ borderStyle: 'dashed', ...(isOver && { background: 'var(--mantine-primary-color-light)' }) }}
      onDragOver={(event: DragEvent) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event: DragEvent) => {
        event.preventDefault();
        setIsOver(false);
        give([...event.dataTransfer.files]);
      }}
    >
      <Text size="sm" mb="xs" style={{ overflowWrap: 'anywhere' }}>
        {text}
      </Text>
      <Group justify="center">
        {multiple ? (
          <FileButton multiple {...accepted} onChange={give}>
            {button}
          </FileButton>
        ) : (
          <FileButton {...accepted} onChange={(file) => file && give([file])}>
            {button}
          </FileButton>
        )}
      </Group>
    </Card>
  );
}
