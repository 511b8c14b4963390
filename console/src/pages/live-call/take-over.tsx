import { Button, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { FormDialog } from '../../components/form-dialog.tsx';
import { PhoneForwarded } from '../../components/icons.ts';
import { useSession } from '../call/call-data.ts';
import { destinationsOf } from './transfer-destinations.ts';

const OWN = 'own';

/** Takes a call over: brings its caller to a person or another agent. */
export function TakeOver({ sessionId }: { sessionId: string }) {
  const session = useSession(sessionId);
  const [opened, dialog] = useDisclosure(false);
  const [chosen, setChosen] = useState<string | null>(null);
  const [number, setNumber] = useState('');
  const close = () => {
    dialog.close();
    setChosen(null);
    setNumber('');
  };
  const speaking = session.data?.detail.agents.at(-1);
  const agent = useQuery({
    queryKey: ['agent', speaking?.agent_id, 'version', speaking?.version],
    enabled: opened && speaking !== undefined,
    staleTime: Infinity,
    queryFn: () =>
      take(
        api.GET('/v1/agents/{agent_id}', {
          params: { path: { agent_id: speaking!.agent_id }, query: { version: speaking!.version } },
        }),
      ),
  });
  if (!session.data) return null;
  const isCarried = session.data.detail.telephony_account_id !== null;
  const choices = destinationsOf(agent.data, isCarried);
  const options = [...choices, ...(isCarried ? [{ value: OWN, label: 'A number of your own' }] : [])];
  const to = chosen ?? options[0]?.value ?? null;
  const own = number.replace(/[\s().-]/g, '');
  return (
    <>
      <Button variant="default" leftSection={<PhoneForwarded size={14} />} onClick={dialog.open}>
        Take over
      </Button>
      <FormDialog
        title="Take this call over"
        submit="Transfer"
        opened={opened}
        onClose={close}
        onSubmit={() =>
          take(
            api.POST('/v1/sessions/{session_id}/transfer', {
              params: { path: { session_id: sessionId } },
              body: to === OWN ? { phone_number: own } : { destination_id: to ?? '' },
            }),
          )
        }
      >
        {options.length === 0 && !agent.isFetching ? (
          <Text size="sm">
            Nobody can take it: the agent has no transfer destination, and a call in the browser reaches no
            telephone. Add a destination to the agent.
          </Text>
        ) : (
          <Stack>
            <Select
              label="To"
              allowDeselect={false}
              data={options}
              value={to}
              onChange={setChosen}
              comboboxProps={{ withinPortal: false }}
            />
            {to === OWN && (
              <TextInput
                label="Number"
                description="It is called and told who the caller is. Who answers takes the call with the key 1 or a yes; until then the agent stays with the caller."
                placeholder="+14155550100"
                inputMode="tel"
                value={number}
                onChange={(event) => setNumber(event.currentTarget.value)}
              />
            )}
          </Stack>
        )}
      </FormDialog>
    </>
  );
}
