import { Button, Group, Radio, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { Modal } from '../../components/dialog.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { AGENT_TEMPLATES } from './agent-templates.ts';

/** Asks for a template and a name, makes the agent, and opens it. */
export function CreateAgent({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { orgId, projectId } = useProject();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [templateId, setTemplateId] = useState(AGENT_TEMPLATES[0]!.id);
  const [name, setName] = useState('');
  const template = AGENT_TEMPLATES.find(({ id }) => id === templateId) ?? AGENT_TEMPLATES[0]!;
  const create = useMutation({
    mutationFn: () =>
      take(
        api.POST('/v1/orgs/{org_id}/projects/{project_id}/agents', {
          params: { path: { org_id: orgId, project_id: projectId } },
          body: { name: name.trim() === '' ? template.title : name.trim(), ...template.agent },
        }),
      ),
    async onSuccess(agent) {
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['agents'] }),
        queries.invalidateQueries({ queryKey: ['choices', 'agent'] }),
      ]);
      onClose();
      await navigate({
        to: '/projects/$projectId/agents/$agentId',
        params: { projectId, agentId: agent.id },
      });
    },
  });
  const close = () => {
    // What went wrong, and what was typed, is not of the next try.
    create.reset();
    setName('');
    setTemplateId(AGENT_TEMPLATES[0]!.id);
    onClose();
  };
  return (
    <Modal opened={opened} onClose={close} title="New agent" size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            placeholder={template.title}
            value={name}
            maxLength={120}
            data-autofocus
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Radio.Group value={templateId} onChange={setTemplateId} label="Begin with">
            <SimpleGrid cols={{ base: 1, xs: 2, sm: 3 }} spacing="xs" mt={4}>
              {AGENT_TEMPLATES.map(({ id, title, text }) => (
                <Radio.Card key={id} value={id} p="sm" radius="md" h="100%">
                  <Group wrap="nowrap" align="flex-start" gap="xs">
                    <Radio.Indicator size="xs" mt={3} />
                    <div>
                      <Text size="sm" fw={600}>
                        {title}
                      </Text>
                      <Text size="xs" c="dimmed">
                        {text}
                      </Text>
                    </div>
                  </Group>
                </Radio.Card>
              ))}
            </SimpleGrid>
          </Radio.Group>
          {create.error && <ErrorMessage error={create.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={create.isPending}>
              Create agent
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
