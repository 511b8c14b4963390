import type { Feature } from '../composition/feature.ts';
import { meRoutes } from './me-routes.ts';

export function createMe(): Feature {
  return { routes: meRoutes() };
}
