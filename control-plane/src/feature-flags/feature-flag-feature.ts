import type { Feature } from '../composition/feature.ts';
import { featureFlagRoutes } from './feature-flag-routes.ts';

export function createFeatureFlags(deps: Parameters<typeof featureFlagRoutes>[0]): Feature {
  return { routes: featureFlagRoutes(deps) };
}
