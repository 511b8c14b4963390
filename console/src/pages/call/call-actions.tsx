import { Button, Menu, Text } from '@mantine/core';
import { useClipboard, useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, take, takeFile } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { CopyCurl } from '../../components/copy-curl.tsx';
import { Check, Download, FlaskConical, Link2, Trash2 } from '../../components/icons.ts';
import { saveFile } from '../../components/save-file.ts';
import { tellFailure } from '../../components/tell-failure.ts';
import { clock } from './call-clock.ts';
import type { Session } from './call-data.ts';
import { MakeTest } from './make-test.tsx';
import { usePlayback } from './playback.ts';
import type { Playback } from './playback.ts';
import type { LogEvent, LogTurn } from './session-log.ts';

/** What can be done with a call. */
export function CallActions({
  session,
  playback,
  turns,
  events,
  hasRecording,
}: {
  session: Session;
  playback: Playback;
  turns: readonly LogTurn[];
  events: readonly LogEvent[];
  hasRecording: boolean;
}) {
  const { projectId, can } = useProject();
  const { session_id: id } = session;
  const clipboard = useClipboard({ timeout: 1500 });
  const second = usePlayback(playback, ({ timeMs }) => Math.floor(timeMs / 1000));
  const [testOpened, test] = useDisclosure(false);
  const navigate = useNavigate();
  const client = useQueryClient();

  function copyLink() {
    const at = second > 0 ? `?at=${(playback.timeMs / 1000).toFixed(1)}` : '';
    clipboard.copy(`${location.origin}/projects/${projectId}/calls/${id}${at}`);
  }
  async function download(path: string, name: string) {
    try {
      saveFile(await takeFile(path), name);
    } catch (error) {
      tellFailure('The download did not work', error);
    }
  }
  async function erase() {
    await take(api.DELETE('/v1/sessions/{session_id}', { params: { path: { session_id: id } } }));
    client.removeQueries({ predicate: ({ queryKey }) => queryKey.includes(id) });
    notifications.show({ message: 'The call is erased.' });
    await navigate({ to: `/projects/${projectId}/calls` });
  }
  const transcript = `/v1/sessions/${id}/transcript`;
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        leftSection={clipboard.copied ? <Check size={14} /> : <Link2 size={14} />}
        onClick={copyLink}
      >
        {clipboard.copied ? 'Copied' : second > 0 ? `Link at ${clock(second * 1000)}` : 'Copy link'}
      </Button>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" size="compact-sm" leftSection={<Download size={14} />}>
            Download
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {hasRecording && session.detail.recording_id !== null && (
            <Menu.Item
              onClick={() =>
                void download(`/v1/recordings/${session.detail.recording_id}/content`, `${id}.wav`)
              }
            >
              Recording (WAV)
            </Menu.Item>
          )}
          <Menu.Item onClick={() => void download(`${transcript}?format=text`, `${id}.txt`)}>
            Transcript as text
          </Menu.Item>
          <Menu.Item onClick={() => void download(`${transcript}?format=vtt`, `${id}.vtt`)}>
            Transcript as subtitles (WebVTT)
          </Menu.Item>
          <Menu.Item onClick={() => void download(transcript, `${id}.json`)}>Transcript as JSON</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {can('edit') && session.agent_id !== null && turns.some(({ role }) => role === 'caller') && (
        <>
          <Button
            variant="default"
            size="compact-sm"
            leftSection={<FlaskConical size={14} />}
            onClick={test.open}
          >
            Make a test
          </Button>
          <MakeTest
            opened={testOpened}
            onClose={test.close}
            sessionId={id}
            agentId={session.agent_id}
            events={events}
            name={firstWords(turns)}
          />
        </>
      )}
      <CopyCurl request={{ method: 'GET', path: `/v1/sessions/${id}` }} />
      {can('administer') && (
        <ConfirmButton
          size="compact-sm"
          color="red"
          variant="default"
          leftSection={<Trash2 size={14} />}
          title="Erase this call?"
          text={
            <Text span size="sm">
              Transcript, recording, analyses, variables, numbers and what the call wrote into databases are
              deleted. When it took place and how long it was is kept. This cannot be undone.
            </Text>
          }
          confirm="Erase"
          onConfirm={erase}
        >
          Erase
        </ConfirmButton>
      )}
    </>
  );
}

/** What a test of the call may be called: what its caller said first. */
function firstWords(turns: readonly LogTurn[]): string {
  const said = turns.find(({ role, text }) => role === 'caller' && text.trim() !== '')?.text.trim() ?? '';
  return said.length > 60 ? `${said.slice(0, 57).trimEnd()}…` : said;
}
