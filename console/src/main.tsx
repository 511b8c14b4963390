import '@mantine/core/styles.layer.css';
import '@mantine/notifications/styles.layer.css';
import '@mantine/spotlight/styles.layer.css';
import './app/global.css';
import './app/starting.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { cspNonce } from './api/page-settings.ts';
import { askAhead } from './app/ask-ahead.ts';
import { queryClient } from './app/query-client.ts';
import { router } from './app/router.tsx';
import { cssVariables, theme } from './app/theme.ts';

// The scroll lock behind dialogs makes a style element of its own.
setNonce(cspNonce);

askAhead(location.pathname);

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => cspNonce}
    >
      <Notifications position="bottom-right" />
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
