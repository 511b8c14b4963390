import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import {
  installationCollection,
  refreshTokenCollection,
  signInCollection,
  userCollection,
} from './identity-model.ts';
import { IDENTITY_AUDIT, IdentityService } from './identity-service.ts';
import { PasswordHasher } from './password.ts';
import { identityRoutes } from './identity-routes.ts';
import type { SignInDeps } from './identity-routes.ts';
import { identitySample } from './identity-sample.ts';

/** Users and what they sign in with. */
export function createIdentity(
  deps: Pick<
    Platform,
    | 'audit'
    | 'background'
    | 'box'
    | 'bus'
    | 'clock'
    | 'config'
    | 'consoleUrl'
    | 'database'
    | 'mailer'
    | 'signingKeys'
  >,
) {
  const { config } = deps;
  const identity = new IdentityService({
    ...deps,
    passwords: new PasswordHasher({ costBits: config.PASSWORD_COST_BITS }),
    issuer: config.PUBLIC_URL,
  });
  return {
    identity,
    collections: [installationCollection, refreshTokenCollection, signInCollection, userCollection],
    audit: IDENTITY_AUDIT,
    samples: [identitySample],
  } satisfies Feature & { identity: IdentityService };
}

/** How people get in and out: it also makes them members of orgs. */
export function createSignIn<Invite extends { email: string }>(deps: SignInDeps<Invite>): Feature {
  return { routes: identityRoutes(deps) };
}
