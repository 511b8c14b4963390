import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { NumberSearch } from './number-search.tsx';
import { peopleFilter } from './people-filter.ts';

const AFTER_TYPING_MS = 200;

/** A name or number as it is typed, and the filter that it has become by now. */
export function usePeopleSearch() {
  const [typed, setTyped] = useState('');
  const [rested] = useDebouncedValue(typed, AFTER_TYPING_MS);
  return { typed, setTyped, isPart: peopleFilter(typed).isPart, filter: peopleFilter(rested).filter };
}

/** A box for a name or a whole number. */
export function PeopleSearch({ search }: { search: ReturnType<typeof usePeopleSearch> }) {
  return <NumberSearch search={search} label="Find by name or number" placeholder="Name or +14155550100" />;
}
