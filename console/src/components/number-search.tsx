import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { Search } from './icons.ts';

/** A telephone number as it is typed. Lists are asked for whole numbers only: `wanted` is empty until it is one. */
export function useNumberSearch() {
  const [typed, setTyped] = useState('');
  const number = typed.replace(/[\s().-]/g, '');
  const wanted = /^\+[1-9]\d{6,14}$/.test(number) ? number : '';
  return { typed, setTyped, wanted, isPart: number !== '' && wanted === '' };
}

/** A box for a whole number. */
export function NumberSearch({
  search: { typed, setTyped, isPart },
  label,
  placeholder,
}: {
  search: Pick<ReturnType<typeof useNumberSearch>, 'typed' | 'setTyped' | 'isPart'>;
  /** Whose number it is. */
  label: string;
  placeholder: string;
}) {
  return (
    <TextInput
      w={{ base: '100%', xs: 240 }}
      leftSection={<Search size={16} />}
      placeholder={placeholder}
      aria-label={label}
      value={typed}
      {...(isPart && { error: 'Write the whole number, with its country code.' })}
      onChange={(event) => setTyped(event.currentTarget.value)}
    />
  );
}
