import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import {
  installationCollection,
  refreshTokenCollection,
  signInCollection,
  userCollection,
} from './identity-model.ts';
import { IDENTITY_AUDIT } from './identity-common.ts';
import { PasswordHasher } from './password.ts';
import { PasswordReset } from './password-reset.ts';
import { PasswordSignIn } from './password-sign-in.ts';
import { SignIns } from './sign-ins.ts';
import { UserAccounts } from './user-accounts.ts';
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
  const accounts = new UserAccounts({
    ...deps,
    passwords: new PasswordHasher({ costBits: config.PASSWORD_COST_BITS }),
  });
  const signIns = new SignIns({ ...deps, issuer: config.PUBLIC_URL });
  return {
    userAccounts: accounts,
    signIns,
    passwordSignIn: new PasswordSignIn({ ...deps, accounts, signIns }),
    passwordReset: new PasswordReset({ ...deps, accounts, signIns }),
    collections: [installationCollection, refreshTokenCollection, signInCollection, userCollection],
    audit: IDENTITY_AUDIT,
    samples: [identitySample],
  } satisfies Feature & Record<'userAccounts' | 'signIns' | 'passwordSignIn' | 'passwordReset', object>;
}

/** How people get in and out: it also makes them members of orgs. */
export function createSignIn<Invite extends { email: string }>(deps: SignInDeps<Invite>): Feature {
  return { routes: identityRoutes(deps) };
}
