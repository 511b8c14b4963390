import {
  Chip,
  Group,
  MultiSelect,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  TextInput,
} from '@mantine/core';
import { useChoices } from '../../components/schema-form/references.ts';
import { Week } from '../../components/week.tsx';
import { RETRIED } from './campaign-plan.ts';
import type { CampaignPlan, RetriedOutcome } from './campaign-plan.ts';

interface StepProps {
  plan: CampaignPlan;
  change: (part: Partial<CampaignPlan>) => void;
}

export function WhoStep({ plan, change }: StepProps) {
  const agents = useChoices('agent');
  const numbers = useChoices('number');
  return (
    <Stack>
      <TextInput
        label="Name"
        placeholder="Renewals in March"
        maxLength={120}
        data-autofocus
        value={plan.name}
        onChange={(event) => change({ name: event.currentTarget.value })}
      />
      <Select
        label="Agent"
        placeholder="Choose an agent"
        searchable
        limit={100}
        data={agents as never}
        value={plan.agentId}
        onChange={(agentId) => change({ agentId })}
      />
      <MultiSelect
        label="Numbers"
        description="Those that calls come from; without any: every active number of the project."
        placeholder={plan.numberIds.length === 0 ? 'Every active number' : ''}
        searchable
        clearable
        limit={100}
        data={numbers as never}
        value={plan.numberIds}
        onChange={(numberIds) => change({ numberIds })}
      />
    </Stack>
  );
}

export function TimesStep({ plan, change }: StepProps) {
  const zones = useChoices('zone');
  return (
    <Stack>
      <Select
        label="Timezone"
        searchable
        allowDeselect={false}
        limit={50}
        data={zones as never}
        value={plan.timezone}
        onChange={(timezone) => timezone !== null && change({ timezone })}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          type="datetime-local"
          label="Begins"
          description="Empty: when it is started."
          value={plan.startAt}
          onChange={(event) => change({ startAt: event.currentTarget.value })}
        />
        <TextInput
          type="datetime-local"
          label="Ends"
          description="Empty: when all are called."
          value={plan.endAt}
          onChange={(event) => change({ endAt: event.currentTarget.value })}
        />
      </SimpleGrid>
      <Switch
        label="Only at these hours"
        description="Otherwise at the hours of the agent."
        checked={plan.hasHours}
        onChange={(event) => change({ hasHours: event.currentTarget.checked })}
      />
      {plan.hasHours && (
        <>
          <Week windows={plan.windows} onChange={(windows) => change({ windows })} />
          <Switch
            label="By the clock of the person called"
            description="Where their timezone is known."
            checked={plan.useContactTimezone}
            onChange={(event) => change({ useContactTimezone: event.currentTarget.checked })}
          />
        </>
      )}
    </Stack>
  );
}

export function PaceStep({ plan, change }: StepProps) {
  return (
    <Stack>
      <Group grow align="flex-start">
        <NumberInput
          label="Calls at a time"
          min={1}
          max={500}
          allowDecimal={false}
          value={plan.maxConcurrent}
          onChange={(value) => change({ maxConcurrent: Number(value) || 1 })}
        />
        <NumberInput
          label="New calls a second"
          min={0.1}
          max={20}
          step={0.5}
          value={plan.callsPerSecond}
          onChange={(value) => change({ callsPerSecond: Number(value) || 1 })}
        />
      </Group>
      <Group grow align="flex-start">
        <NumberInput
          label="Attempts for each person"
          min={1}
          max={10}
          allowDecimal={false}
          value={plan.maxAttempts}
          onChange={(value) => change({ maxAttempts: Number(value) || 1 })}
        />
        <TextInput
          label="Minutes before each further one"
          description="With commas between; the last repeats."
          disabled={plan.maxAttempts === 1}
          value={plan.delays}
          onChange={(event) => change({ delays: event.currentTarget.value })}
        />
      </Group>
      {plan.maxAttempts > 1 && (
        <div>
          <Text size="sm" fw={500} mb={6} id="retry-on">
            Call again whoever
          </Text>
          <Chip.Group
            multiple
            value={plan.retryOn}
            onChange={(retryOn) => change({ retryOn: retryOn as RetriedOutcome[] })}
          >
            <Group gap={6} role="group" aria-labelledby="retry-on">
              {RETRIED.map(({ value, label }) => (
                <Chip key={value} value={value} size="xs">
                  {label}
                </Chip>
              ))}
            </Group>
          </Chip.Group>
        </div>
      )}
      <TextInput
        label="It may cost"
        description="The campaign pauses by itself once its calls cost this much. Empty: no ceiling."
        placeholder="25.00"
        inputMode="decimal"
        maw={300}
        value={plan.maxCost}
        onChange={(event) => change({ maxCost: event.currentTarget.value })}
      />
    </Stack>
  );
}
