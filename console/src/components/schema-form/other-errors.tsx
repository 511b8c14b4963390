import { Alert, Text } from '@mantine/core';
import type { Path } from './form-value.ts';

/** What is wrong beside the controls of the form. */
export function OtherErrors({ errors }: { errors: readonly { loc: Path; msg: string }[] }) {
  if (errors.length === 0) return null;
  return (
    <Alert color="red" variant="light" title="This cannot be saved yet">
      {errors.map(({ loc, msg }, index) => (
        <Text key={index} size="sm">
          {loc.length > 1 ? `${loc.slice(1).join(' › ')}: ` : ''}
          {msg}
        </Text>
      ))}
    </Alert>
  );
}
