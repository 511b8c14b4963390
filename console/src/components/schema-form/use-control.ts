import type { Field } from './field.ts';
import { useForm } from './form-scope.tsx';
import { getAt, shownOf } from './form-value.ts';
import type { Path } from './form-value.ts';

/** What every control is given; `id` is that of its label. */
export interface ControlProps<F extends Field = Field> {
  field: F;
  path: Path;
  id: string;
  error: string | undefined;
}

/** Props of a control for fields of one kind. */
export type Kind<K extends Field['kind']> = ControlProps<Field & { kind: K }>;

/** What a control shows, and how it writes; undefined removes the value. */
export function useControl(field: Field, path: Path) {
  const { value, readOnly, change } = useForm();
  return {
    shown: shownOf(field, getAt(value, path)),
    readOnly,
    set: (next: unknown) => change(path, next),
  };
}
