import type { Clock } from '@parley/shared/time/clock';
import type { BackgroundWork } from '../lifecycle/background-work.ts';
import { memberCollection } from '../members/member-model.ts';
import type { MemberRecord } from '../members/member-record.ts';
import { orgCollection } from '../orgs/org-model.ts';
import type { OrgRecord } from '../orgs/org-model.ts';
import { projectCollection } from '../projects/project-model.ts';
import type { ProjectRecord } from '../projects/project-model.ts';
import type { Database } from '../storage/database.ts';
import { ExpiringCache } from '../storage/expiring-cache.ts';

/** How late a removed member, a revoked key or a suspended org may still be served by another process. */
export const DIRECTORY_TTL_MS = 4000;

const SEEN_EVERY_MS = 60_000;

/** Orgs, projects and memberships as the access rules need them: read at each request, remembered for seconds. */
export class Directory {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #background: BackgroundWork;
  readonly #orgs: ExpiringCache<OrgRecord | null>;
  readonly #projects: ExpiringCache<ProjectRecord | null>;
  readonly #memberships: ExpiringCache<MemberRecord[]>;

  constructor({
    database,
    clock,
    background,
  }: {
    database: Database;
    clock: Clock;
    background: BackgroundWork;
  }) {
    this.#database = database;
    this.#clock = clock;
    this.#background = background;
    this.#orgs = new ExpiringCache({ clock, ttlMs: DIRECTORY_TTL_MS, maxEntries: 10_000 });
    this.#projects = new ExpiringCache({ clock, ttlMs: DIRECTORY_TTL_MS, maxEntries: 10_000 });
    this.#memberships = new ExpiringCache({ clock, ttlMs: DIRECTORY_TTL_MS, maxEntries: 10_000 });
  }

  org(orgId: string): Promise<OrgRecord | null> {
    return this.#orgs.get(orgId, () =>
      this.#database.model(orgCollection).findOne({ _id: orgId }).lean<OrgRecord>(),
    );
  }

  project(projectId: string): Promise<ProjectRecord | null> {
    return this.#projects.get(projectId, () =>
      this.#database.model(projectCollection).findOne({ _id: projectId }).lean<ProjectRecord>(),
    );
  }

  /** Active memberships, oldest first. */
  memberships(userId: string): Promise<MemberRecord[]> {
    return this.#memberships.get(userId, () =>
      this.#database
        .model(memberCollection)
        .find({ user_id: userId, status: 'active' })
        .sort({ created_at: 1 })
        .limit(500)
        .lean<MemberRecord[]>(),
    );
  }

  async membership(userId: string, orgId: string): Promise<MemberRecord | null> {
    const all = await this.memberships(userId);
    return all.find((member) => member.org_id === orgId) ?? null;
  }

  /** Notes to the minute that the member was here. */
  seen(member: MemberRecord): void {
    const now = this.#clock.now();
    if (member.last_seen_at && now - member.last_seen_at.getTime() < SEEN_EVERY_MS) return;
    const minute = new Date(now - (now % SEEN_EVERY_MS));
    member.last_seen_at = minute;
    this.#background.run('the last visit of a member could not be recorded', () =>
      this.#database
        .model(memberCollection)
        .updateOne({ _id: member._id }, { $set: { last_seen_at: minute } }, { timestamps: false }),
    );
  }

  /** Call after a write, so that this process sees it at once. */
  forget(id: string): void {
    this.#orgs.forget(id);
    this.#projects.forget(id);
    this.#memberships.forget(id);
  }
}
