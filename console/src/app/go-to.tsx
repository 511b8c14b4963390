import { Button, Kbd, Loader, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight, createSpotlight } from '@mantine/spotlight';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useContext, useEffect, useState } from 'react';
import { api, take } from '../api/client.ts';
import { ErrorMessage } from '../components/error-message.tsx';
import { Search } from '../components/icons.ts';
import { addressOf, offered } from './navigation-links.ts';
import { PAGES } from './pages.ts';
import { ProjectValue, lastProject, useOrg, useProfile } from './project.ts';
import { groupHits } from './search-hits.ts';

const LABEL = 'Find a page, or a record by name, number or id';
const LIST_ID = 'found';
const MAX_LENGTH = 100;
/** Above what is found. */
const MAX_PAGES = 5;
const AFTER_TYPING_MS = 200;

const [store, finder] = createSpotlight();

/** Ctrl-K: any page, and any record of the org, by a part of its name, its number or its id. */
export function GoTo() {
  const project = useContext(ProjectValue);
  const { memberships } = useProfile();
  const { orgId, role } = useOrg();
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const text = typed.trim();
  const [q] = useDebouncedValue(text, AFTER_TYPING_MS);
  const ids = { projectId: project?.projectId ?? lastProject.get() ?? undefined, orgId: orgId || undefined };
  const named = PAGES.filter(
    (page) =>
      page.group !== undefined &&
      offered(page, role, ids) &&
      page.title.toLowerCase().includes(text.toLowerCase()),
  );
  const pages = text === '' ? named : named.slice(0, MAX_PAGES);
  const searched = orgId || (memberships[0]?.org_id ?? '');
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ['search', searched, q],
    enabled: q !== '' && searched !== '',
    queryFn: ({ signal }) =>
      take(
        api.GET('/v1/orgs/{org_id}/search', { params: { path: { org_id: searched }, query: { q } }, signal }),
      ),
    placeholderData: keepPreviousData,
  });
  const groups =
    text === ''
      ? []
      : groupHits(data?.items ?? [], { projectId: ids.projectId, orgId: searched || undefined });
  const waiting = text !== '' && (text !== q || isFetching);
  const nothing = pages.length === 0 && groups.length === 0 && !waiting && !error;
  useEffect(keepOneSelected, [data, typed]);
  return (
    <>
      <Button
        variant="default"
        size="compact-md"
        fullWidth
        styles={{ label: { flex: 1 } }}
        leftSection={<Search size={15} aria-hidden />}
        rightSection={<Kbd size="xs">Ctrl K</Kbd>}
        onClick={finder.open}
        mt="xs"
        fw={500}
      >
        Find
      </Button>
      <Spotlight.Root
        store={store}
        shortcut={['mod + K']}
        query={typed}
        onQueryChange={setTyped}
        scrollable
        maxHeight="60vh"
        // What is selected is light on dark, and fainter could not be read.
        styles={{ actionDescription: { opacity: 1 } }}
        attributes={{ content: { 'aria-label': LABEL } }}
      >
        <Spotlight.Search
          placeholder={LABEL}
          aria-label={LABEL}
          maxLength={MAX_LENGTH}
          rightSection={waiting && <Loader size="xs" role="status" aria-label="Searching" />}
        />
        {(pages.length > 0 || groups.length > 0) && (
          <Spotlight.ActionsList id={LIST_ID}>
            {pages.length > 0 && (
              <Spotlight.ActionsGroup label="Pages">
                {pages.map((page) => (
                  <Spotlight.Action
                    key={page.path}
                    label={page.title}
                    leftSection={page.icon && <page.icon size={17} aria-hidden />}
                    highlightQuery
                    onClick={() => void navigate({ to: addressOf(page, ids) })}
                  />
                ))}
              </Spotlight.ActionsGroup>
            )}
            {groups.map(({ heading, found }) => (
              <Spotlight.ActionsGroup key={heading} label={heading}>
                {found.map(({ hit, address }) => (
                  <Spotlight.Action
                    key={hit.id}
                    label={hit.name}
                    description={hit.id}
                    highlightQuery
                    onClick={() => void navigate(address as never)}
                  />
                ))}
              </Spotlight.ActionsGroup>
            ))}
          </Spotlight.ActionsList>
        )}
        {nothing && <Spotlight.Empty role="status">Nothing has this name, number or id</Spotlight.Empty>}
        {error && text !== '' && (
          <Spotlight.Footer>
            <ErrorMessage error={error} onRetry={() => void refetch()} />
          </Spotlight.Footer>
        )}
        {data?.total_capped && groups.length > 0 && (
          <Spotlight.Footer>
            <Text size="xs" c="dimmed">
              There is more of this name: type more of it.
            </Text>
          </Spotlight.Footer>
        )}
      </Spotlight.Root>
    </>
  );
}

/** Enter opens what is selected, also where what was selected has gone with the hits of another text. */
function keepOneSelected(): void {
  const actions = [...document.querySelectorAll(`#${LIST_ID} [data-action]`)];
  const at = Math.max(
    0,
    actions.findIndex((action) => action.hasAttribute('data-selected')),
  );
  actions[at]?.setAttribute('data-selected', 'true');
  store.updateState((state) => ({ ...state, selected: actions.length === 0 ? -1 : at }));
}
