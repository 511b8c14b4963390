// What most pages are made of: bundled as one file, which the first page brings for all (build/shared-chunks.ts).
import './confirm-button.tsx';
import './data-table.tsx';
import './form-dialog.tsx';
import './load-more.tsx';
import './page-header.tsx';
import './query-content.tsx';
import './save-file.ts';
import './schema-form/form-errors.ts';
import './schema-form/form-value.ts';
import './status-badge.tsx';
import './time.tsx';
import '../api/description.ts';
import '../api/use-pages.ts';
import '../api/use-retry-failed.ts';
import {
  ActionIcon,
  Anchor,
  Badge,
  Box,
  Card,
  CopyButton,
  NumberInput,
  Paper,
  Popover,
  Progress,
  SegmentedControl,
  Select,
  SimpleGrid,
  Skeleton,
  Switch,
  Table,
  Tabs,
  Textarea,
  Tooltip,
} from '@mantine/core';

export {
  ActionIcon,
  Anchor,
  Badge,
  Box,
  Card,
  CopyButton,
  NumberInput,
  Paper,
  Popover,
  Progress,
  SegmentedControl,
  Select,
  SimpleGrid,
  Skeleton,
  Switch,
  Table,
  Tabs,
  Textarea,
  Tooltip,
};
