import { createHash, randomBytes } from 'node:crypto';
import type { z } from 'zod';
import {
  ConflictError,
  ForbiddenError,
  NotFoundError,
  UnauthorizedError,
} from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import { normalEmail } from '../identity/identity-common.ts';
import type { UserAccounts } from '../identity/user-accounts.ts';
import type { Mailer } from '../identity/mailer.ts';
import type { BackgroundWork } from '../lifecycle/background-work.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { ListPage } from '../storage/list.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import type { Directory } from '../tenancy/directory.ts';
import { principalId } from '../tenancy/principal.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkProjects } from '../tenancy/project-references.ts';
import { roleAtLeast } from '../tenancy/roles.ts';
import type { Role } from '../tenancy/roles.ts';
import type { Scope } from '../tenancy/scope.ts';
import { inviteCollection } from './invite-model.ts';
import type { InviteRecord } from './invite-model.ts';
import { memberCollection } from './member-model.ts';
import type { MemberRecord } from './member-record.ts';
import type { createInviteRequest, MemberWithUser, patchMemberRequest } from './member-schema.ts';

/** What it writes to the audit trail. */
export const MEMBER_AUDIT = [
  'member.joined',
  'member.changed',
  'member.removed',
  'invite.created',
  'invite.revoked',
] as const;

const INVITE_MS = 7 * 24 * 3_600_000;

/** Who belongs to an org, and who is asked to. */
export class MemberService {
  readonly #database: Database;
  readonly #directory: Directory;
  readonly #accounts: UserAccounts;
  readonly #mailer: Mailer;
  readonly #background: BackgroundWork;
  readonly #audit: AuditLog<(typeof MEMBER_AUDIT)[number]>;
  readonly #clock: Clock;
  readonly #consoleUrl: string;

  constructor(deps: {
    database: Database;
    directory: Directory;
    userAccounts: UserAccounts;
    mailer: Mailer;
    background: BackgroundWork;
    audit: AuditLog<(typeof MEMBER_AUDIT)[number]>;
    clock: Clock;
    consoleUrl: string;
  }) {
    this.#database = deps.database;
    this.#directory = deps.directory;
    this.#accounts = deps.userAccounts;
    this.#mailer = deps.mailer;
    this.#background = deps.background;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
    this.#consoleUrl = deps.consoleUrl;
  }

  async list(
    scope: Scope,
    list: ListInput & AnyOf<MemberRecord, 'role' | 'status'>,
  ): Promise<ListPage<MemberWithUser>> {
    const filter = { ...commonFilter(list), ...equalities({ role: list.role, status: list.status }) };
    const page = await scope.collection(memberCollection).page(filter, list);
    const users = await this.#accounts.users(page.items.map((member) => member.user_id));
    return { ...page, items: page.items.map((member) => withUser(member, users.get(member.user_id))) };
  }

  /** @throws ForbiddenError, ConflictError `conflict` for the last owner, ValidationError */
  async change(
    scope: Scope,
    caller: Principal,
    member: MemberRecord,
    request: z.output<typeof patchMemberRequest>,
    origin: { address: string },
  ): Promise<MemberWithUser> {
    this.#checkAbove(scope, member.role);
    const next = {
      role: request.role ?? member.role,
      project_ids: request.project_ids === undefined ? member.project_ids : request.project_ids,
      status: request.status ?? member.status,
    };
    this.#checkAbove(scope, next.role);
    if (caller.auth === 'jwt' && caller.user_id === member.user_id && !roleAtLeast(member.role, next.role)) {
      throw new ForbiddenError('forbidden', 'You cannot raise your own role.');
    }
    // A narrowed member who becomes an admin sees everything: the list goes, unless it was sent, which is a mistake.
    if (roleAtLeast(next.role, 'admin') && request.project_ids === undefined) next.project_ids = null;
    await this.#checkProjects(scope, next.role, next.project_ids);
    const members = scope.collection(memberCollection);
    const changed = await members.update({ _id: member._id }, { $set: next });
    if (!changed) throw new NotFoundError();
    this.#directory.forget(member.user_id);
    const stillOwner = next.role === 'owner' && next.status === 'active';
    if (member.role === 'owner' && member.status === 'active' && !stillOwner) {
      await this.#keepAnOwner(scope, async () => {
        const { role, project_ids, status } = member;
        await members.update({ _id: member._id }, { $set: { role, project_ids, status } });
      });
    }
    await this.#audit.record({
      scope,
      caller,
      address: origin.address,
      action: 'member.changed',
      target: member._id,
    });
    const users = await this.#accounts.users([member.user_id]);
    return withUser(changed, users.get(member.user_id));
  }

  /** @throws ForbiddenError, ConflictError `conflict` for the last owner */
  async remove(
    scope: Scope,
    caller: Principal,
    member: MemberRecord,
    origin: { address: string },
  ): Promise<void> {
    this.#checkAbove(scope, member.role);
    const members = scope.collection(memberCollection);
    await members.delete({ _id: member._id });
    this.#directory.forget(member.user_id);
    if (member.role === 'owner' && member.status === 'active') {
      await this.#keepAnOwner(scope, async () => {
        const { created_at: _created, updated_at: _updated, ...same } = member;
        await members.insert(same);
      });
    }
    await this.#audit.record({
      scope,
      caller,
      address: origin.address,
      action: 'member.removed',
      target: member._id,
    });
  }

  /** Two owners who remove each other at the same time must not both succeed: looked at after the write. */
  async #keepAnOwner(scope: Scope, undo: () => Promise<void>): Promise<void> {
    const owners = await scope.collection(memberCollection).count({ role: 'owner', status: 'active' });
    if (owners > 0) return;
    await undo();
    throw new ConflictError(
      'conflict',
      'An org must have at least one owner. Make another member owner first.',
    );
  }

  #checkAbove(scope: Scope, role: Role): void {
    if (!roleAtLeast(scope.role, role)) {
      throw new ForbiddenError(
        'role_too_low',
        `You can give or change only roles up to your own; this requires the role ${role}.`,
      );
    }
  }

  async #checkProjects(scope: Scope, role: Role, projectIds: readonly string[] | null): Promise<void> {
    if (projectIds === null) return;
    const loc = ['body', 'project_ids'];
    if (roleAtLeast(role, 'admin')) throw invalid(loc, 'can be set only for viewers and editors');
    await checkProjects(
      scope,
      projectIds.map((id, index) => ({ id, loc: [...loc, index] })),
    );
  }

  // Invites

  invites(
    scope: Scope,
    list: ListInput & { status?: string[] | undefined },
  ): Promise<ListPage<InviteRecord>> {
    const now = new Date(this.#clock.now());
    const byStatus: Record<string, object> = {
      accepted: { status: 'accepted' },
      revoked: { status: 'revoked' },
      pending: { status: 'pending', expires_at: { $gt: now } },
      expired: { status: 'pending', expires_at: { $lte: now } },
    };
    const chosen = list.status?.map((word) => byStatus[word]!);
    const status = chosen?.length === 1 ? chosen[0] : chosen && { $or: chosen };
    return scope.collection(inviteCollection).page({ ...commonFilter(list, 'email'), ...status }, list);
  }

  /** Mails a link; an older invite to the same address dies. @throws ConflictError `duplicate` for a member */
  async invite(
    scope: Scope,
    caller: Principal,
    request: z.output<typeof createInviteRequest>,
    origin: { address: string },
  ): Promise<InviteRecord> {
    this.#checkAbove(scope, request.role);
    await this.#checkProjects(scope, request.role, request.project_ids);
    const email = normalEmail(request.email);
    const user = await this.#accounts.userByEmail(email);
    if (user && (await scope.collection(memberCollection).findOne({ user_id: user._id }))) {
      throw new ConflictError('duplicate', 'This person is already a member.');
    }
    const invites = scope.collection(inviteCollection);
    await checkRoom(scope.collection(memberCollection), {}, 'org');
    await checkRoom(invites, { status: 'pending' }, 'org');
    await invites.updateMany({ email, status: 'pending' }, { $set: { status: 'revoked' } });
    const token = randomBytes(32).toString('base64url');
    const invite = await invites.insert({
      _id: newId('ivt', this.#clock.now()),
      email,
      role: request.role,
      project_ids: request.project_ids,
      status: 'pending',
      expires_at: new Date(this.#clock.now() + INVITE_MS),
      invited_by: principalId(caller),
      digest: digestOf(token),
    });
    const org = await this.#directory.org(scope.orgId);
    this.#background.run('an invite e-mail could not be sent', () =>
      this.#mailer.send({
        to: email,
        subject: `You are invited to ${org?.name ?? 'Parley'}`,
        text: `Join within seven days:\n${this.#consoleUrl}/accept-invite?token=${token}\n`,
      }),
    );
    await this.#audit.record({
      scope,
      caller,
      address: origin.address,
      action: 'invite.created',
      target: invite._id,
    });
    return invite;
  }

  async revokeInvite(
    scope: Scope,
    caller: Principal,
    invite: InviteRecord,
    origin: { address: string },
  ): Promise<void> {
    const revoked = await scope
      .collection(inviteCollection)
      .update({ _id: invite._id, status: 'pending' }, { $set: { status: 'revoked' } });
    if (!revoked) return;
    await this.#audit.record({
      scope,
      caller,
      address: origin.address,
      action: 'invite.revoked',
      target: invite._id,
    });
  }

  /** @throws UnauthorizedError when the token is unknown, used or old */
  async pendingInvite(token: string): Promise<InviteRecord> {
    const invite = await this.#database
      .model(inviteCollection)
      .findOne({
        digest: digestOf(token),
        status: 'pending',
        expires_at: { $gt: new Date(this.#clock.now()) },
      })
      .lean<InviteRecord>();
    if (!invite) throw inviteRefused();
    return invite;
  }

  /** Makes the user a member. Of two requests with one invite, one wins. @throws UnauthorizedError */
  async join(invite: InviteRecord, userId: string, origin: { address: string }): Promise<MemberRecord> {
    const claimed = await this.#database
      .model(inviteCollection)
      .findOneAndUpdate({ _id: invite._id, status: 'pending' }, { $set: { status: 'accepted' } })
      .lean();
    if (!claimed) throw inviteRefused();
    const members = this.#database.model(memberCollection);
    try {
      const created = await members.create({
        _id: newId('mbr', this.#clock.now()),
        org_id: invite.org_id,
        user_id: userId,
        role: invite.role,
        project_ids: invite.project_ids,
        status: 'active',
      });
      await this.#audit.record({
        orgId: invite.org_id,
        caller: userId,
        address: origin.address,
        action: 'member.joined',
        target: created._id,
      });
      return created.toObject();
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      throw new ConflictError('duplicate', 'You are already a member of this org.', { cause: error });
    } finally {
      this.#directory.forget(userId);
    }
  }
}

function withUser(member: MemberRecord, user: { email: string; name: string } | undefined): MemberWithUser {
  return { ...member, email: user?.email ?? '', name: user?.name ?? '' };
}

function inviteRefused(): UnauthorizedError {
  return new UnauthorizedError('unauthenticated', 'The invite is invalid or has expired.');
}

function digestOf(token: string): string {
  return createHash('sha256').update(token, 'utf8').digest('hex');
}
