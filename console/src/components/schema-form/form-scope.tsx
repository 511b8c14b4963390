import { createContext, useContext } from 'react';
import type { ReactNode } from 'react';
import { NO_ERRORS } from './form-errors.ts';
import type { PlacedErrors } from './form-errors.ts';
import type { Path } from './form-value.ts';

interface FormState {
  value: unknown;
  errors: PlacedErrors;
  readOnly: boolean;
  /** Beside each other, or narrow: one below the other. */
  narrow: boolean;
  /** What callers get now; what differs from it is marked. */
  live: unknown;
  change(path: Path, next: unknown): void;
}

const FormContext = createContext<FormState | null>(null);

/** The form around a control; throws outside of one. */
export function useForm(): FormState {
  const form = useContext(FormContext);
  if (!form) throw new Error('A control stands outside of a form.');
  return form;
}

/**
 * Gives the controls inside it a value.
 * @param props.change called with the path of the control and its new value; undefined removes it
 */
export function FormScope({
  value,
  errors = NO_ERRORS,
  readOnly = false,
  narrow = false,
  live,
  change,
  children,
}: {
  value: unknown;
  errors?: PlacedErrors;
  readOnly?: boolean;
  narrow?: boolean;
  live?: unknown;
  change: (path: Path, next: unknown) => void;
  children: ReactNode;
}) {
  return <FormContext value={{ value, errors, readOnly, narrow, live, change }}>{children}</FormContext>;
}
