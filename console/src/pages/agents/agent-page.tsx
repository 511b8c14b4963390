import {
  Badge,
  Box,
  Button,
  Card,
  Group,
  Menu,
  NavLink,
  Select,
  Skeleton,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate, useSearch } from '@tanstack/react-router';
import {
  AudioLines,
  BookOpen,
  Brain,
  ChevronDown,
  Cpu,
  FileText,
  Gauge,
  Globe,
  Hand,
  Languages,
  ListChecks,
  MessageSquare,
  Phone,
  Repeat2,
  Rocket,
  ShieldCheck,
  SlidersHorizontal,
  Wrench,
} from '../../components/build-icons.ts';
import type { ComponentType } from 'react';
import { useRetryFailed } from '../../api/use-retry-failed.ts';
import { useParam, useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { errorsWithin } from '../../components/schema-form/form-errors.ts';
import { FormScope } from '../../components/schema-form/form-scope.tsx';
import { OtherErrors } from '../../components/schema-form/other-errors.tsx';
import { FieldRow } from '../../components/schema-form/schema-form.tsx';
import { tellFailure } from '../../components/tell-failure.ts';
import { AgentFrame } from './agent-frame.tsx';
import { fieldAt, sectionOf } from './agent-form.ts';
import type { AgentSection } from './agent-form.ts';
import { AgentLinks } from './agent-links.tsx';
import { SavedMeanwhile } from './saved-meanwhile.tsx';
import { useAgentEditor, usePublish } from './use-agent-editor.ts';
import type { AgentEditor } from './use-agent-editor.ts';
import { VoicePreview } from './voice-preview.tsx';

const ICONS: Readonly<Record<string, ComponentType<{ size?: number }>>> = {
  prompt: FileText,
  greeting: MessageSquare,
  voice: AudioLines,
  models: Cpu,
  languages: Languages,
  turns: Repeat2,
  interruption: Hand,
  tools: Wrench,
  knowledge: BookOpen,
  memory: Brain,
  analyses: ListChecks,
  privacy: ShieldCheck,
  telephony: Phone,
  limits: Gauge,
  widget: Globe,
};

export default function AgentPage() {
  const agentId = useParam('agentId');
  return <Editor key={agentId} agentId={agentId} />;
}

function Editor({ agentId }: { agentId: string }) {
  const editor = useAgentEditor(agentId);
  const retry = useRetryFailed();
  const { can } = useProject();
  const navigate = useNavigate();
  const search: { section?: string } = useSearch({ strict: false });
  const readOnly = !can('edit') || editor.agent.data?.archived_at != null;
  const section = editor.sections.find(({ id }) => id === search.section) ?? editor.sections[0];
  const open = (id: string) => void navigate({ to: '.', search: { section: id }, replace: true });

  return (
    <AgentFrame agentId={agentId} actions={!readOnly && <Actions agentId={agentId} editor={editor} />}>
      {editor.failure && !editor.value ? (
        <ErrorMessage error={editor.failure} onRetry={retry} />
      ) : !editor.value || !editor.form || !section ? (
        <Skeleton h={400} radius="md" />
      ) : (
        <Group align="flex-start" gap="xl" wrap="nowrap">
          <Sections editor={editor} active={section} onOpen={open} />
          <Box flex={1} miw={0} maw={880}>
            <Select
              hiddenFrom="md"
              mb="md"
              aria-label="Section"
              value={section.id}
              data={editor.sections.map(({ id, title }) => ({ value: id, label: title }))}
              allowDeselect={false}
              onChange={(id) => id && open(id)}
            />
            <Notices editor={editor} />
            <FormScope
              value={editor.value}
              errors={editor.errors.placed}
              readOnly={readOnly}
              live={editor.liveValue}
              change={editor.change}
            >
              <SectionForm agentId={agentId} editor={editor} section={section} readOnly={readOnly} />
            </FormScope>
          </Box>
        </Group>
      )}
    </AgentFrame>
  );
}

function Sections({
  editor,
  active,
  onOpen,
}: {
  editor: AgentEditor;
  active: AgentSection;
  onOpen: (id: string) => void;
}) {
  const changedIn = (section: AgentSection) =>
    editor.unpublished.filter((path) => sectionOf(editor.sections, path)?.id === section.id).length;
  const wrongIn = (section: AgentSection) =>
    section.paths.reduce((sum, path) => sum + errorsWithin(editor.errors.placed, path), 0);
  return (
    <Box component="nav" w={208} visibleFrom="md" aria-label="Sections of the agent" pos="sticky" top={72}>
      {editor.sections.map((section) => {
        const Icon = ICONS[section.id] ?? SlidersHorizontal;
        const wrong = wrongIn(section);
        const changed = changedIn(section);
        return (
          <NavLink
            key={section.id}
            component="button"
            label={section.title}
            active={section.id === active.id}
            leftSection={<Icon size={16} />}
            style={{ borderRadius: 'var(--mantine-radius-md)' }}
            rightSection={
              wrong > 0 ? (
                <Badge size="xs" circle color="red" aria-label={`${wrong} errors`}>
                  {wrong}
                </Badge>
              ) : changed > 0 ? (
                <Badge
                  size="xs"
                  circle
                  variant="light"
                  color="yellow"
                  aria-label={`${changed} differ from live`}
                >
                  {changed}
                </Badge>
              ) : null
            }
            onClick={() => onOpen(section.id)}
          />
        );
      })}
    </Box>
  );
}

function SectionForm({
  agentId,
  editor,
  section,
  readOnly,
}: {
  agentId: string;
  editor: AgentEditor;
  section: AgentSection;
  readOnly: boolean;
}) {
  const fields = section.paths.flatMap((path) => {
    const field = fieldAt(editor.form!, path);
    return field ? [{ path, field }] : [];
  });
  const plain = fields.filter(({ field }) => field.kind !== 'group');
  const groups = fields.filter(({ field }) => field.kind === 'group');
  return (
    <Stack gap="lg">
      <div>
        <Title order={2} size="h4">
          {section.title}
        </Title>
        <Text size="sm" c="dimmed">
          {section.text}
        </Text>
      </div>
      {plain.length > 0 && (
        <Card withBorder radius="md" p="md">
          <Stack gap="lg">
            {plain.map(({ path, field }) => (
              <FieldRow key={path.join('.')} field={field} path={path} />
            ))}
            {section.id === 'voice' && <VoicePreview value={editor.value!} />}
          </Stack>
        </Card>
      )}
      {section.id === 'tools' && <AgentLinks agentId={agentId} kind="tools" readOnly={readOnly} />}
      {section.id === 'knowledge' && (
        <AgentLinks agentId={agentId} kind="knowledge-bases" readOnly={readOnly} />
      )}
      {section.id === 'analyses' && (
        <>
          <AgentLinks agentId={agentId} kind="post-call-analyses" readOnly={readOnly} />
          <AgentLinks
            agentId={agentId}
            kind="databases"
            readOnly={readOnly}
            own={editor.agent.data?.auto_database_id ?? null}
          />
        </>
      )}
      {groups.map(({ path, field }) => (
        <FieldRow key={path.join('.')} field={field} path={path} />
      ))}
    </Stack>
  );
}

function Notices({ editor }: { editor: AgentEditor }) {
  const { draft, agent, save } = editor;
  const isOutdated = draft !== null && agent.data !== undefined && draft.version < agent.data.version;
  const failed = save.error && !('fields' in save.error && (save.error.fields as unknown[]).length > 0);
  const nothing = editor.errors.elsewhere.length === 0 && !isOutdated && !failed;
  if (nothing) return null;
  return (
    <Stack mb="md" gap="sm">
      <OtherErrors errors={editor.errors.elsewhere} />
      {failed && <ErrorMessage error={save.error} />}
      {isOutdated && (
        <SavedMeanwhile
          version={agent.data.version}
          began={draft.version}
          text="They now stand on top of the newest version: look them over before you save."
        >
          <Button size="xs" variant="default" onClick={editor.discard}>
            Load theirs
          </Button>
        </SavedMeanwhile>
      )}
    </Stack>
  );
}

function Actions({ agentId, editor }: { agentId: string; editor: AgentEditor }) {
  const publish = usePublish(agentId);
  const { agent, traffic, liveVersion, draft, save } = editor;
  if (!agent.data || !traffic.data || liveVersion === undefined) return null;
  const isLatest = traffic.data.mode === 'latest';
  const wrong = [...editor.errors.placed.values()].length + editor.errors.elsewhere.length;
  const saved = () =>
    notifications.show({
      color: 'green',
      message: isLatest ? 'Saved. Callers get it from now on.' : 'Saved as a draft.',
    });
  const pin = (version: number) =>
    publish.mutateAsync({
      mode: 'pinned',
      splits: [{ version, weight: 100 }],
      require_passed_tests: traffic.data.require_passed_tests,
    });
  const tell = (error: Error) => tellFailure('Not published', error);
  const publishNow = () =>
    pin(agent.data.version).then(
      () => notifications.show({ color: 'green', message: `Callers get version ${agent.data.version} now.` }),
      tell,
    );
  if (draft === null) {
    if (liveVersion === agent.data.version)
      return (
        <Text size="sm" c="dimmed">
          {isLatest ? 'Saving reaches callers at once' : 'All is published'}
        </Text>
      );
    return (
      <Button
        leftSection={<Rocket size={16} />}
        loading={publish.isPending}
        onClick={() => void publishNow()}
      >
        Publish v{agent.data.version}
      </Button>
    );
  }
  return (
    <Group gap="xs">
      <Text size="sm" c={wrong > 0 ? 'var(--mantine-color-error)' : 'dimmed'} aria-live="polite">
        {wrong > 0
          ? `${wrong} to mend`
          : editor.isChecking
            ? 'Checking…'
            : `${editor.changed.length} unsaved`}
      </Text>
      <Button variant="default" onClick={editor.discard}>
        Discard
      </Button>
      <Button.Group>
        <Button
          loading={save.isPending}
          disabled={wrong > 0}
          onClick={() => save.mutate(undefined, { onSuccess: saved })}
        >
          {isLatest ? 'Save and go live' : 'Save draft'}
        </Button>
        {isLatest && (
          <Menu position="bottom-end">
            <Menu.Target>
              <Button px={8} disabled={wrong > 0} aria-label="More ways to save">
                <ChevronDown size={16} />
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item
                onClick={() =>
                  void pin(agent.data.version)
                    .then(() => save.mutateAsync())
                    .then(() => notifications.show({ color: 'green', message: 'Saved as a draft.' }), tell)
                }
              >
                Save as a draft: callers stay on v{agent.data.version}
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        )}
      </Button.Group>
    </Group>
  );
}
