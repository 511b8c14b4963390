import { PasswordInput } from '@mantine/core';

/** One value that signs an account in. */
export interface SecretField {
  name: string;
  label: string;
  required: boolean;
}

/** What a carrier or a provider wants to know of whoever signs in there. */
export function SecretFields({
  fields,
  values,
  onChange,
}: {
  fields: readonly SecretField[];
  values: Readonly<Record<string, string>>;
  onChange: (values: Record<string, string>) => void;
}) {
  return fields.map(({ name, label, required }) => (
    <PasswordInput
      key={name}
      label={label}
      withAsterisk={required}
      autoComplete="off"
      value={values[name] ?? ''}
      onChange={(event) => onChange({ ...values, [name]: event.currentTarget.value })}
    />
  ));
}

/** Whether everything is there that has to be. */
export function isWhole(fields: readonly SecretField[], values: Readonly<Record<string, string>>): boolean {
  return fields.every(({ name, required }) => !required || (values[name] ?? '').trim() !== '');
}
