import { Drawer as BareDrawer, Modal as BareModal, Button, Group, Stack, Text } from '@mantine/core';
import type { DrawerProps, ModalProps } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { OutdatedNotice } from './outdated-notice.tsx';

// Dialogs and drawers of the pages: what was typed in a form of theirs is not lost by Escape, by the cross, or by a click
// beside them, unless whoever typed it says so. Of several, Escape is for the one on top.

type Opening = { opened: boolean; onClose: () => void; children?: ReactNode };

/** A dialog in the middle of the page. */
export function Modal({ opened, onClose, children, ...rest }: ModalProps & Opening) {
  const { close, isOnTop, content, question } = useKept(opened, onClose);
  return (
    <>
      <BareModal {...rest} opened={opened} onClose={close} closeOnEscape={isOnTop}>
        <div {...content}>{children}</div>
      </BareModal>
      {question}
    </>
  );
}

/** A dialog at the side of the page, such as for a record. */
export function Drawer({ opened, onClose, children, ...rest }: DrawerProps & Opening) {
  const { close, isOnTop, content, question } = useKept(opened, onClose);
  return (
    <>
      <BareDrawer {...rest} opened={opened} onClose={close} closeOnEscape={isOnTop}>
        <div {...content}>
          <OutdatedNotice />
          {children}
        </div>
      </BareDrawer>
      {question}
    </>
  );
}

/** Forms in which somebody typed, and whether that is on its way to the server. */
type TypedForms = Map<HTMLFormElement, 'typed' | 'sent'>;

/** Asks before what was typed is thrown away. */
function useKept(opened: boolean, onClose: () => void) {
  const forms = useRef<TypedForms>(new Map());
  const [asks, setAsks] = useState(false);
  const isOnTop = useIsOnTop(opened);
  const queries = useQueryClient();
  useFocusBack(opened);
  useEffect(() => {
    if (!opened) return;
    const typed = forms.current;
    const leave = queries.getMutationCache().subscribe((event) => {
      const outcome = event.type === 'updated' && event.action.type;
      if (outcome !== 'success' && outcome !== 'error') return;
      for (const [form, state] of typed) {
        if (state !== 'sent') continue;
        if (outcome === 'success') typed.delete(form);
        else typed.set(form, 'typed');
      }
    });
    return () => {
      leave();
      typed.clear();
    };
  }, [opened, queries]);
  const question = (
    <Question
      opened={opened && asks}
      onKeep={() => setAsks(false)}
      onDiscard={() => {
        setAsks(false);
        onClose();
      }}
    />
  );
  return {
    isOnTop,
    question,
    close() {
      if ([...forms.current.keys()].some(({ isConnected }) => isConnected)) setAsks(true);
      else onClose();
    },
    content: {
      onInput({ target }: FormEvent) {
        const { form } = target as HTMLInputElement;
        if (form) forms.current.set(form, 'typed');
      },
      onSubmit({ target }: FormEvent) {
        const form = target as HTMLFormElement;
        if (forms.current.has(form)) forms.current.set(form, 'sent');
      },
    },
  };
}

function Question({
  opened,
  onKeep,
  onDiscard,
}: {
  opened: boolean;
  onKeep: () => void;
  onDiscard: () => void;
}) {
  const isOnTop = useIsOnTop(opened);
  return (
    <BareModal opened={opened} onClose={onKeep} closeOnEscape={isOnTop} title="Discard what you typed?">
      <Stack>
        <Text size="sm">It has not been saved.</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onKeep} data-autofocus>
            Keep it
          </Button>
          <Button color="red.9" onClick={onDiscard}>
            Discard
          </Button>
        </Group>
      </Stack>
    </BareModal>
  );
}

/** What had the focus last; of a menu, whose items go with it, what opened it. */
let lastFocused: HTMLElement | null = null;
document.addEventListener('focusin', ({ target }) => {
  if (target instanceof HTMLElement && !target.closest('[role=menu]')) lastFocused = target;
});

/** After the dialog's own attempt, which finds no item of a menu any more. */
const FOCUS_BACK_MS = 30;

/** Leads back to what opened a dialog, once it is closed. */
function useFocusBack(opened: boolean): void {
  useEffect(() => {
    if (!opened) return;
    const opener = lastFocused;
    return () =>
      void setTimeout(() => {
        // Another dialog may have taken its place.
        if (open.length > 0 && !opener?.closest('[role=dialog]')) return;
        const { activeElement, body } = document;
        if (activeElement === body || activeElement?.closest('[role=dialog]'))
          opener?.focus({ preventScroll: true });
      }, FOCUS_BACK_MS);
  }, [opened]);
}

/** The dialogs that are open, the uppermost last. */
let open: readonly symbol[] = [];
const listeners = new Set<() => void>();

function change(next: readonly symbol[]): void {
  open = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Whether no other dialog was opened after this one. */
function useIsOnTop(opened: boolean): boolean {
  const [id] = useState(() => Symbol('dialog'));
  useEffect(() => {
    if (!opened) return;
    change([...open, id]);
    return () => change(open.filter((one) => one !== id));
  }, [opened, id]);
  return useSyncExternalStore(subscribe, () => open.at(-1) === id);
}
