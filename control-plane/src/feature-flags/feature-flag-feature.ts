import type { Feature } from '../composition/feature.ts';
import { featureFlagRoutes } from './feature-flag-routes.ts';
import { featureFlagSample } from './feature-flag-sample.ts';

export function createFeatureFlags(deps: Parameters<typeof featureFlagRoutes>[0]): Feature {
  return { routes: featureFlagRoutes(deps), samples: [featureFlagSample] };
}
