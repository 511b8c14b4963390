import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { ErrorMessage } from '../components/error-message.tsx';
import { Loading } from '../components/loading.tsx';
import { Landing } from './landing.tsx';
import { loadPage } from './load-page.ts';
import { NotFound } from './not-found.tsx';
import { PAGES } from './pages.ts';
import { Shell } from './shell.tsx';

/** A page that takes longer than this says that it is on its way. */
const SLOW_MS = 500;

const root = createRootRoute({ notFoundComponent: () => <NotFound /> });

/** Everything behind the sign-in. */
const shell = createRoute({ getParentRoute: () => root, id: 'shell', component: Shell });

const pages = PAGES.map(({ path, load }) =>
  createRoute({ getParentRoute: () => shell, path, component: lazyRouteComponent(() => loadPage(load)) }),
);

const outside = [
  { path: '/sign-in', load: () => import('../pages/sign-in/sign-in-page.tsx') },
  { path: '/register', load: () => import('../pages/register/register-page.tsx') },
  { path: '/accept-invite', load: () => import('../pages/accept-invite/accept-invite-page.tsx') },
  { path: '/reset-password', load: () => import('../pages/reset-password/reset-password-page.tsx') },
  { path: '/start', load: () => import('../pages/start/start-page.tsx') },
].map(({ path, load }) =>
  createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(() => loadPage(load)) }),
);

const landing = createRoute({ getParentRoute: () => shell, path: '/', component: Landing });

export const router = createRouter({
  routeTree: root.addChildren([shell.addChildren([landing, ...pages]), ...outside]),
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultPendingComponent: () => <Loading />,
  // The frame of the first page is there before the page's file; from then on a page stays until the next one has come.
  defaultPendingMs: 0,
  defaultErrorComponent: ({ error, reset }) => <ErrorMessage error={error} onRetry={reset} />,
});

const stop = router.subscribe('onResolved', () => {
  stop();
  router.update({ defaultPendingMs: SLOW_MS });
});
