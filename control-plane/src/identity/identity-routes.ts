import { z } from 'zod';
import { ForbiddenError, TooManyRequestsError, UnauthorizedError } from '@parley/shared/errors/app-error';
import type { Bus } from '@parley/shared/bus/bus';
import type { ControlPlaneConfig } from '../config.ts';
import type { SigningKeys } from '../crypto/signing-keys.ts';
import { addressKey } from '@parley/shared/http/client-address';
import { defineOperation, jsonBody, patchBody, HttpResponse } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { bearerToken } from '../http/bearer-token.ts';
import { ValidationError } from '@parley/shared/errors/app-error';
import type { ProjectService } from '../projects/project-service.ts';
import type { Directory } from '../tenancy/directory.ts';
import type { Principal, UserPrincipal } from '../tenancy/principal.ts';
import type { Role } from '../tenancy/roles.ts';
import type { Database } from '../storage/database.ts';
import { Scope } from '../tenancy/scope.ts';
import type { UserRecord } from './identity-model.ts';
import {
  acceptInviteRequest,
  changePasswordRequest,
  forgotPasswordRequest,
  loginRequest,
  membershipResponse,
  patchProfileRequest,
  profileResponse,
  refreshRequest,
  registeredResponse,
  registerRequest,
  resetPasswordRequest,
  tokensResponse,
} from './identity-schema.ts';
import type { PasswordReset } from './password-reset.ts';
import type { PasswordSignIn } from './password-sign-in.ts';
import type { SignIns } from './sign-ins.ts';
import type { UserAccounts } from './user-accounts.ts';

const REGISTRATIONS_PER_HOUR = 20;

/** What a membership gives its user. */
export interface Membership {
  org_id: string;
  role: Role;
  project_ids: string[] | null;
}

/** Invites by mailed token: `MemberService`. */
export interface Invites<Invite extends { email: string }> {
  /** @throws UnauthorizedError when the token is unknown, used or old */
  pendingInvite(token: string): Promise<Invite>;
  /** Makes the user a member. Of two requests with one invite, one wins. @throws UnauthorizedError */
  join(invite: Invite, userId: string, origin: { address: string }): Promise<Membership>;
}

/** Orgs that new users come to own: `OrgService`. */
export interface OwnedOrgs {
  /** The org that the first start made. */
  first(): Promise<{ _id: string } | null>;
  create(fields: { name: string }, ownerId: string, origin: { address: string }): Promise<{ _id: string }>;
  addOwner(orgId: string, userId: string): Promise<void>;
}

export interface SignInDeps<Invite extends { email: string }> {
  userAccounts: UserAccounts;
  signIns: SignIns;
  passwordSignIn: PasswordSignIn;
  passwordReset: PasswordReset;
  orgs: OwnedOrgs;
  projects: ProjectService;
  members: Invites<Invite>;
  directory: Directory;
  database: Database;
  signingKeys: SigningKeys;
  bus: Bus;
  config: ControlPlaneConfig;
}

/** Signing in and out, outside `/v1`. */
export function identityRoutes<Invite extends { email: string }>(deps: SignInDeps<Invite>): Operation[] {
  const {
    userAccounts,
    signIns,
    passwordSignIn,
    passwordReset,
    orgs,
    projects,
    members,
    directory,
    bus,
    config,
  } = deps;

  async function limitRegistrations(address: string): Promise<void> {
    const { count, resetAt } = await bus.rates.hit(`register:${addressKey(address)}`, 3600);
    if (count <= REGISTRATIONS_PER_HOUR) return;
    throw new TooManyRequestsError(
      'rate_limited',
      'Too many registrations from this address. Try again later.',
      Math.ceil((resetAt - Date.now()) / 1000),
    );
  }

  /** The org that the first start made, or a new one with a project. */
  async function orgOfFirstUser(user: UserRecord, name: string | undefined, address: string): Promise<void> {
    const existing = await orgs.first();
    if (existing) return orgs.addOwner(existing._id, user._id);
    await newOrg(user, name ?? `${user.name}'s organisation`, address);
  }

  async function newOrg(user: UserRecord, name: string, address: string): Promise<void> {
    const org = await orgs.create({ name }, user._id, { address });
    const scope = new Scope(deps.database, {
      orgId: org._id,
      projectId: null,
      projects: null,
      role: 'owner',
    });
    await projects.create(scope, user._id, { name: 'Default' }, { address });
  }

  async function toMembership(member: Membership): Promise<z.infer<typeof membershipResponse>> {
    const org = await directory.org(member.org_id);
    return {
      org_id: member.org_id,
      org_name: org?.name ?? '',
      role: member.role,
      project_ids: member.project_ids,
    };
  }

  async function toProfile(user: UserRecord): Promise<z.infer<typeof profileResponse>> {
    const memberships = await directory.memberships(user._id);
    return {
      user_id: user._id,
      email: user.email,
      name: user.name,
      locale: user.locale,
      timezone: user.timezone,
      memberships: await Promise.all(memberships.map(toMembership)),
    };
  }

  return [
    defineOperation({
      id: 'register',
      method: 'POST',
      path: '/auth/v1/register',
      tag: 'Sign-in',
      summary: 'Register',
      description:
        'The first user of an installation must send the setup code and becomes owner of the first org.',
      access: 'public',
      body: jsonBody(registerRequest),
      responses: { 201: { description: 'Signed in', schema: registeredResponse } },
      errors: [403, 409],
      async handle({ body, address }) {
        await limitRegistrations(address);
        const { email, name, password } = body;
        const newUser = { email, name, password };
        let user: UserRecord;
        if (!(await userAccounts.hasUsers())) {
          user = await userAccounts.createFirstUser({ ...newUser, setupCode: body.setup_code }, { address });
          await orgOfFirstUser(user, body.org_name, address);
        } else {
          if (config.REGISTRATION !== 'open') {
            throw new ForbiddenError(
              'registration_closed',
              'Registration is disabled on this installation. Ask an admin for an invite.',
            );
          }
          user = await userAccounts.createUser(newUser, { address });
          await newOrg(user, body.org_name ?? `${user.name}'s organisation`, address);
        }
        const tokens = await signIns.start(user, { address });
        return { ...tokens, user: { user_id: user._id, email: user.email, name: user.name } };
      },
    }),
    defineOperation({
      id: 'login',
      method: 'POST',
      path: '/auth/v1/login',
      tag: 'Sign-in',
      summary: 'Sign in',
      access: 'public',
      body: jsonBody(loginRequest),
      responses: { 200: { description: 'Signed in', schema: tokensResponse } },
      errors: [401],
      handle: ({ body, address }) => passwordSignIn.login(body.email, body.password, { address }),
    }),
    defineOperation({
      id: 'refresh',
      method: 'POST',
      path: '/auth/v1/refresh',
      tag: 'Sign-in',
      summary: 'Refresh an access token',
      access: 'public',
      body: jsonBody(refreshRequest),
      responses: { 200: { description: 'New tokens', schema: tokensResponse } },
      errors: [401],
      handle: ({ body, address }) => signIns.refresh(body.refresh_token, { address }),
    }),
    defineOperation({
      id: 'logout',
      method: 'POST',
      path: '/auth/v1/logout',
      tag: 'Sign-in',
      summary: 'Sign out',
      access: 'public',
      body: jsonBody(refreshRequest),
      responses: { 204: { description: 'Signed out' } },
      handle: ({ body, address }) => signIns.logout(body.refresh_token, { address }),
    }),
    defineOperation({
      id: 'changePassword',
      method: 'POST',
      path: '/auth/v1/password',
      tag: 'Sign-in',
      summary: 'Change the password',
      description: 'Ends all other sign-ins of the user.',
      access: { user: 'any' },
      body: jsonBody(changePasswordRequest),
      responses: { 204: { description: 'Changed' } },
      handle: ({ caller, body, address }) =>
        passwordSignIn.changePassword(userOf(caller), body.current_password, body.new_password, { address }),
    }),
    defineOperation({
      id: 'forgotPassword',
      method: 'POST',
      path: '/auth/v1/password/forgot',
      tag: 'Sign-in',
      summary: 'Request a password reset',
      access: 'public',
      answersAlways: true,
      body: jsonBody(forgotPasswordRequest),
      responses: { 202: { description: 'Accepted, whether or not the account exists' } },
      handle({ body, address }) {
        passwordReset.request(body.email, { address });
      },
    }),
    defineOperation({
      id: 'resetPassword',
      method: 'POST',
      path: '/auth/v1/password/reset',
      tag: 'Sign-in',
      summary: 'Reset the password with the token of the e-mail',
      access: 'public',
      body: jsonBody(resetPasswordRequest),
      responses: { 204: { description: 'The password is changed and all sign-ins have ended' } },
      errors: [401],
      handle: ({ body, address }) => passwordReset.complete(body.token, body.new_password, { address }),
    }),
    defineOperation({
      id: 'acceptInvite',
      method: 'POST',
      path: '/auth/v1/invites/accept',
      tag: 'Sign-in',
      summary: 'Accept an invite',
      description:
        'A new user sends name and password and is signed in; an existing user sends an access token.',
      access: 'public',
      body: jsonBody(acceptInviteRequest),
      responses: {
        200: {
          description: 'Tokens of a new user, or the membership',
          schema: z.union([tokensResponse, membershipResponse]),
        },
      },
      errors: [401, 403, 409],
      async handle({ body, headers, address }) {
        const invite = await members.pendingInvite(body.token);
        const existing = await userAccounts.userByEmail(invite.email);
        if (existing) {
          const token = bearerToken(headers.authorization);
          if (token === undefined)
            throw new UnauthorizedError(
              'unauthenticated',
              'An account with this e-mail address exists. Sign in to accept the invite.',
            );
          const caller = await signIns.authenticate(token);
          if (caller.user_id !== existing._id)
            throw new ForbiddenError(
              'forbidden',
              'The invite was sent to another e-mail address. Sign in with that account.',
            );
          return new HttpResponse(
            200,
            await toMembership(await members.join(invite, existing._id, { address })),
          );
        }
        if (config.REGISTRATION === 'closed') {
          throw new ForbiddenError('registration_closed', 'Registration is disabled on this installation.');
        }
        const { name, password } = body;
        if (name === undefined || password === undefined) {
          const missing = (['name', 'password'] as const).filter((field) => body[field] === undefined);
          throw new ValidationError(
            missing.map((field) => ({ loc: ['body', field], msg: 'Field required', type: 'missing' })),
          );
        }
        const user = await userAccounts.createUser({ email: invite.email, name, password }, { address });
        await members.join(invite, user._id, { address });
        return new HttpResponse(200, await signIns.start(user, { address }));
      },
    }),
    defineOperation({
      id: 'getProfile',
      method: 'GET',
      path: '/auth/v1/profile',
      tag: 'Sign-in',
      summary: 'Get your profile and memberships',
      access: { user: 'any' },
      responses: { 200: { description: 'The profile', schema: profileResponse } },
      handle: async ({ caller }) => toProfile(await userAccounts.user(userOf(caller).user_id)),
    }),
    defineOperation({
      id: 'updateProfile',
      method: 'PATCH',
      path: '/auth/v1/profile',
      tag: 'Sign-in',
      summary: 'Update your profile',
      access: { user: 'any' },
      body: patchBody(patchProfileRequest, { readOnly: ['user_id', 'email', 'memberships'] }),
      responses: { 200: { description: 'The profile', schema: profileResponse } },
      handle: async ({ caller, body }) =>
        toProfile(await userAccounts.updateProfile(userOf(caller).user_id, body)),
    }),
    defineOperation({
      id: 'getSigningKeys',
      method: 'GET',
      path: '/.well-known/jwks.json',
      tag: 'Sign-in',
      summary: 'Get the public keys of access tokens (JWK Set, RFC 7517)',
      access: 'public',
      responses: {
        200: {
          description: 'The key set',
          schema: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }),
        },
      },
      handle: () =>
        new HttpResponse(200, deps.signingKeys.publicSet, {
          'Cache-Control': 'public, max-age=300',
          'Access-Control-Allow-Origin': '*',
        }),
    }),
  ];
}

/** Operations for users only have checked this. */
function userOf(caller: Principal): UserPrincipal {
  if (caller.auth !== 'jwt') throw new ForbiddenError('user_required');
  return caller;
}
