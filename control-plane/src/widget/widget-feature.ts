import type { Feature } from '../composition/feature.ts';
import type { SessionCredentials } from '../sessions/session-credentials.ts';
import { widgetDayCollection } from './widget-day-model.ts';
import { widgetRoutes } from './widget-routes.ts';
import { widgetSample } from './widget-sample.ts';
import { WidgetService } from './widget-service.ts';

type WidgetDeps = ConstructorParameters<typeof WidgetService>[0];

export function createWidget({
  sessionCredentials,
  ...deps
}: WidgetDeps & { sessionCredentials: Pick<SessionCredentials, 'addresses'> }) {
  const widget = new WidgetService(deps);
  return {
    widget,
    collections: [widgetDayCollection],
    routes: widgetRoutes({ widget, sessionCredentials }),
    flags: [{ key: 'public_widget', description: 'Sessions from public pages' }],
    samples: [widgetSample],
  } satisfies Feature & { widget: WidgetService };
}
