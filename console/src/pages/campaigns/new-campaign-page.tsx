import {
  Alert,
  Anchor,
  Button,
  Card,
  Group,
  List,
  SegmentedControl,
  Select,
  Stack,
  Stepper,
  Text,
} from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { readAll } from '../../api/list-pages.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { useChoices } from '../../components/schema-form/references.ts';
import { PaceStep, TimesStep, WhoStep } from './campaign-steps.tsx';
import { emptyPlan, problemOf, requestOf, sentencesOf } from './campaign-plan.ts';
import type { CampaignPlan } from './campaign-plan.ts';
import { useRefreshCampaign } from './campaign-actions.tsx';
import { ImportProgress, beginImport } from './contact-import.tsx';
import { CsvChoice, problemOfCsv } from './csv-choice.tsx';
import type { ChosenCsv } from './csv-choice.tsx';

const STEPS = ['Who calls', 'Whom', 'When', 'How', 'Review'];
const REVIEW = STEPS.length - 1;

type People = { from: 'file' | 'list' | 'later'; csv: ChosenCsv | null; listId: string | null };

/** A campaign step by step; the last says what will happen. */
export default function NewCampaignPage() {
  const { orgId, projectId, timezone } = useProject();
  const [step, setStep] = useState(0);
  const [plan, setPlan] = useState<CampaignPlan>(() => emptyPlan(timezone));
  const [people, setPeople] = useState<People>({ from: 'file', csv: null, listId: null });
  const [problem, setProblem] = useState<string | null>(null);
  const change = (part: Partial<CampaignPlan>) => {
    setPlan({ ...plan, ...part });
    setProblem(null);
  };
  function go(to: number) {
    // Behind a step that lacks something nobody goes.
    for (let at = step; at < to; at++) {
      const found = problemOf(plan, at) ?? (at === 1 ? peopleProblem(people) : null);
      if (found === null) continue;
      setStep(at);
      setProblem(found);
      return;
    }
    setProblem(null);
    setStep(to);
  }
  return (
    <>
      <PageHeader
        title="New campaign"
        above={
          <Anchor
            size="sm"
            renderRoot={(props) => (
              <Link {...props} to="/projects/$projectId/campaigns" params={{ projectId }} />
            )}
          >
            All campaigns
          </Anchor>
        }
        request={{ method: 'GET', path: `/v1/orgs/${orgId}/projects/${projectId}/campaigns` }}
      />
      <Stack maw={820} gap="lg">
        <Stepper active={step} onStepClick={go} size="xs" iconSize={28} wrap>
          {STEPS.map((label, at) => (
            <Stepper.Step key={label} label={label} aria-current={at === step ? 'step' : undefined} />
          ))}
        </Stepper>
        <Card withBorder radius="md" p="lg" bg="var(--parley-surface)">
          {step === 0 && <WhoStep plan={plan} change={change} />}
          {step === 1 && <PeopleStep people={people} onChange={setPeople} />}
          {step === 2 && <TimesStep plan={plan} change={change} />}
          {step === 3 && <PaceStep plan={plan} change={change} />}
          {step === REVIEW && <Review plan={plan} people={people} onBack={() => go(REVIEW - 1)} />}
          {problem !== null && (
            <Alert color="red" variant="light" role="alert" mt="md">
              {problem}
            </Alert>
          )}
          {step < REVIEW && (
            <Group justify="space-between" mt="lg">
              <Button variant="default" disabled={step === 0} onClick={() => go(step - 1)}>
                Back
              </Button>
              <Button onClick={() => go(step + 1)}>Next</Button>
            </Group>
          )}
        </Card>
      </Stack>
    </>
  );
}

function peopleProblem({ from, csv, listId }: People): string | null {
  if (from === 'file' && csv === null) return 'Choose a file, a list, or to add people later.';
  if (from === 'file') return problemOfCsv(csv!);
  return from === 'list' && listId === null ? 'Choose a list.' : null;
}

function PeopleStep({ people, onChange }: { people: People; onChange: (people: People) => void }) {
  const { orgId, projectId } = useProject();
  const lists = useQuery({
    queryKey: ['recipient-lists', projectId],
    queryFn: () =>
      readAll((page) =>
        take(
          api.GET('/v1/orgs/{org_id}/projects/{project_id}/recipient-lists', {
            params: { path: { org_id: orgId, project_id: projectId }, query: page },
          }),
        ),
      ),
  });
  const { from } = people;
  return (
    <Stack>
      <SegmentedControl
        aria-label="Where the people come from"
        value={from}
        onChange={(value) => onChange({ ...people, from: value as People['from'] })}
        data={[
          { value: 'file', label: 'CSV file' },
          { value: 'list', label: 'List' },
          { value: 'later', label: 'Later' },
        ]}
      />
      {from === 'file' && <CsvChoice chosen={people.csv} onChange={(csv) => onChange({ ...people, csv })} />}
      {from === 'list' && (
        <Select
          label="List"
          placeholder={lists.isPending ? 'Loading' : 'Choose a list of people'}
          searchable
          limit={100}
          data={(lists.data ?? [])
            .filter(({ kind }) => kind === 'recipients')
            .map(({ id, name, recipient_count }) => ({ value: id, label: `${name} · ${recipient_count}` }))}
          nothingFoundMessage="There is no list of people in this project"
          value={people.listId}
          onChange={(listId) => onChange({ ...people, listId })}
        />
      )}
      {from === 'list' && lists.error && (
        <ErrorMessage error={lists.error} onRetry={() => void lists.refetch()} />
      )}
      {from === 'later' && (
        <Text size="sm" c="dimmed">
          The campaign stays a draft. Add people one by one or import a file before you start it.
        </Text>
      )}
    </Stack>
  );
}

function Review({ plan, people, onBack }: { plan: CampaignPlan; people: People; onBack: () => void }) {
  const { orgId, projectId } = useProject();
  const navigate = useNavigate();
  const agent = useChoices('agent').find(({ value }) => value === plan.agentId)?.label ?? 'The agent';
  const numbers = useChoices('number')
    .filter(({ value }) => plan.numberIds.includes(value))
    .map(({ label }) => label);
  const list = useChoices('list').find(({ value }) => value === people.listId)?.label;
  const wallet = useQuery({
    queryKey: ['wallet', orgId],
    queryFn: () => take(api.GET('/v1/orgs/{org_id}/billing/wallet', { params: { path: { org_id: orgId } } })),
  });
  // What was made stays made: another try goes on behind it.
  const [made, setMade] = useState<{ id: string; importId?: string; hasPeople?: boolean } | null>(null);
  const [starts, setStarts] = useState(false);
  const [wasRead, setWasRead] = useState(false);
  const refresh = useRefreshCampaign(made?.id ?? '');
  const open = (id: string) =>
    void navigate({
      to: '/projects/$projectId/campaigns/$campaignId',
      params: { projectId, campaignId: id },
    });

  const make = useMutation({
    async mutationFn(start: boolean) {
      setStarts(start);
      let now = made;
      if (!now) {
        const { id } = await take(
          api.POST('/v1/orgs/{org_id}/projects/{project_id}/campaigns', {
            params: { path: { org_id: orgId, project_id: projectId } },
            body: requestOf(plan),
          }),
        );
        setMade((now = { id }));
      }
      const params = { path: { campaign_id: now.id } };
      if (people.from === 'file' && now.importId === undefined) {
        const { id } = await beginImport(now.id, people.csv!);
        setMade((now = { ...now, importId: id }));
        // What became of the rows is to be seen before anybody is called.
        return;
      }
      if (people.from === 'list' && now.hasPeople !== true) {
        await take(
          api.POST('/v1/campaigns/{campaign_id}/contacts/import', {
            params,
            body: { recipient_list_id: people.listId! },
          }),
        );
        setMade((now = { ...now, hasPeople: true }));
      }
      if (start) await take(api.POST('/v1/campaigns/{campaign_id}/start', { params }));
      await refresh();
      open(now.id);
    },
  });
  const whom =
    people.from === 'file'
      ? `The people of ${people.csv?.file.name ?? 'the file'} are called.`
      : people.from === 'list'
        ? `The people of the list ${list ?? ''} are called, but not those who opted out.`
        : 'Nobody is called yet: you add people later.';
  const sentences = sentencesOf(plan, {
    agent,
    numbers,
    people: whom,
    currency: wallet.data?.currency ?? '',
  });
  return (
    <Stack>
      <Text fw={600}>{plan.name.trim()}</Text>
      <List spacing={6} size="sm">
        {sentences.map((sentence) => (
          <List.Item key={sentence} style={{ overflowWrap: 'anywhere' }}>
            {sentence}
          </List.Item>
        ))}
      </List>
      {made?.importId !== undefined && (
        <ImportProgress importId={made.importId} onDone={() => setWasRead(true)} />
      )}
      {make.error && <ErrorMessage error={make.error} />}
      {make.isPending && people.from === 'list' && (
        <Text size="sm" role="status">
          The people of the list are added. A long list takes a while.
        </Text>
      )}
      <Group justify="space-between">
        <Button variant="default" onClick={onBack} disabled={made !== null || make.isPending}>
          Back
        </Button>
        {made?.importId === undefined ? (
          <Group gap="xs">
            {made !== null && !make.isPending && (
              <Button variant="default" onClick={() => open(made.id)}>
                Open the campaign
              </Button>
            )}
            <Button
              variant="default"
              loading={make.isPending && !starts}
              disabled={make.isPending}
              onClick={() => make.mutate(false)}
            >
              Make a draft
            </Button>
            {people.from !== 'later' && (
              <Button
                loading={make.isPending && starts}
                disabled={make.isPending}
                onClick={() => make.mutate(true)}
              >
                {people.from === 'file' ? 'Make and import' : 'Make and start'}
              </Button>
            )}
          </Group>
        ) : (
          <Group gap="xs">
            <Button variant="default" onClick={() => void refresh().then(() => open(made.id))}>
              Open the campaign
            </Button>
            {starts && (
              <Button loading={make.isPending} disabled={!wasRead} onClick={() => make.mutate(true)}>
                Start it
              </Button>
            )}
          </Group>
        )}
      </Group>
    </Stack>
  );
}
