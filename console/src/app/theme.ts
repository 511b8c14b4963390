import { createTheme } from '@mantine/core';
import type { CSSVariablesResolver, MantineColorsTuple } from '@mantine/core';

/** The product's own blue-violet, from paper to ink. */
const iris: MantineColorsTuple = [
  '#f1f1fe',
  '#e0e0fb',
  '#c3c2f3',
  '#a4a2ea',
  '#8986e2',
  '#7774dd',
  '#6d69da',
  '#5a56c2',
  '#4c48ad',
  '#3f3b98',
];

const SYSTEM_FONT =
  'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif';

/** What a screen reader says of the cross that closes a dialog or a notification. */
const NAMED_CLOSE = { closeButtonProps: { 'aria-label': 'Close' } };

/** Shades that keep 4.5:1 between text and button, in the light and in the dark. */
export const theme = createTheme({
  primaryColor: 'iris',
  colors: { iris },
  primaryShade: { light: 8, dark: 7 },
  autoContrast: true,
  luminanceThreshold: 0.35,
  fontFamily: SYSTEM_FONT,
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace',
  headings: { fontFamily: SYSTEM_FONT, fontWeight: '620' },
  defaultRadius: 'md',
  cursorType: 'pointer',
  components: {
    Button: { defaultProps: { size: 'sm' } },
    Card: { defaultProps: { bg: 'var(--parley-surface)' } },
    Table: { defaultProps: { verticalSpacing: 'xs', horizontalSpacing: 'md' } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
    Modal: {
      defaultProps: { centered: true, overlayProps: { backgroundOpacity: 0.45, blur: 2 }, ...NAMED_CLOSE },
    },
    Drawer: { defaultProps: NAMED_CLOSE },
    Notification: {
      defaultProps: NAMED_CLOSE,
      styles: { description: { color: 'var(--mantine-color-dimmed)' } },
    },
    ActionIcon: { defaultProps: { variant: 'default' } },
  },
});

/** Dimmed text that can still be read (WCAG 2.2, 1.4.3), and surfaces a little apart from each other. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5b6270',
    '--mantine-color-placeholder': '#6b7280',
    '--mantine-color-error': '#c02b2b',
    '--mantine-color-green-light-color': '#17652b',
    '--mantine-color-teal-light-color': '#07604a',
    '--mantine-color-yellow-light-color': '#744500',
    '--mantine-color-orange-light-color': '#8a3a00',
    '--mantine-color-red-light-color': '#a31f1f',
    '--mantine-color-blue-light-color': '#14529a',
    '--mantine-color-gray-light-color': '#41464d',
    '--parley-surface': '#ffffff',
    '--parley-ground': '#f7f7fa',
    '--parley-line': '#e4e5eb',
  },
  dark: {
    '--mantine-color-dimmed': '#a5abb8',
    '--mantine-color-placeholder': '#9299a6',
    '--mantine-color-error': '#ff8f8f',
    '--mantine-color-anchor': '#a4a2ea',
    '--mantine-color-body': '#14151a',
    '--parley-surface': '#1b1c23',
    '--parley-ground': '#14151a',
    '--parley-line': '#2d2f39',
  },
});
