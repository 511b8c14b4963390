import { randomUUID } from 'node:crypto';

/**
 * Records of a feature, as the tests that go through all features need them: one of each kind, what brings the
 * statuses of its operations about, and thousands for its lists.
 */
export interface Sample {
  /**
   * Makes a record of each kind in the world's project, where those of the features made earlier are.
   * @returns their ids by the path parameters that name them, and good values of path parameters that are no ids
   */
  make?(world: SampleWorld): Promise<Record<string, string>>;
  /** Well-formed values of its path parameters that are no ids, and name nothing. */
  readonly unknown?: Readonly<Record<string, string>>;
  /**
   * By operation. One that has none is expected to succeed with the project's ids and no body. Each stands for itself:
   * what it deletes or archives it has made.
   */
  readonly scenarios?: Readonly<Record<string, Scenario>>;
  /** Well-formed bodies of public operations that look something up. */
  readonly publicBodies?: Readonly<Record<string, object>>;
  /** Fills its lists. */
  many?(at: ManyAt): Many[];
  /** Values of filters that have no end: one that fits many records of `many`, one that fits few, one that fits none. */
  filters?(at: ManyAt): Record<string, string[]>;
}

export interface SampleProject {
  /** By path parameter. */
  ids: Record<string, string>;
  /** Of an admin. */
  key: string;
}

export interface SampleAnswer<T> {
  status: number;
  headers: Headers;
  body: T;
}

export interface SampleRequest {
  /** Path parameters; those that are missing name nothing that exists. */
  ids?: Readonly<Record<string, string>>;
  query?: string;
  /** Objects go as JSON. */
  body?: unknown;
  token?: string | null;
  headers?: Record<string, string>;
}

/** An installation with servers around it. */
export interface SampleWorld {
  cp: {
    /** With the admin key of the first org unless told otherwise; null: without a credential. */
    call<T = Record<string, never>>(
      method: string,
      path: string,
      options?: Omit<SampleRequest, 'ids' | 'query'>,
    ): Promise<SampleAnswer<T>>;
    /** What was mailed, the newest last. */
    mails: readonly { to: string; text: string }[];
  };
  /** Of the project's org. */
  owner: { userId: string; token: string };
  project: SampleProject;
  /** What stands in for a tenant's own servers: answers 200. */
  tenantUrl: string;
  /** An MCP server of the tenant's. */
  mcpUrl: string;
  /** The emulated provider of voices. */
  voices: { setFaults(faults: { kind: 'refuse'; status: number; count: number }[]): void };
  /** The emulated carrier of the world's account. */
  carrier: { setFaults(faults: { kind: 'refuse'; status: number; count: number }[]): void };
  /** The emulated apps: the one with a key can be made to fail, and a person agrees to those with OAuth. */
  apps: {
    setFaults(faults: { kind: 'refuse'; status: number; count: number }[]): void;
    /** @returns the query of the vendor's redirect */
    agree(authorizeUrl: string): Promise<string>;
  };
  /** Straight into the database, for what a limit or a process that died would need. */
  put(collection: string, fields: Record<string, unknown>, count?: number): Promise<void>;
  /** A POST that must succeed, as the owner unless told otherwise. */
  make<T = { id: string }>(path: string, body: object, token?: string): Promise<T>;
  /** A session, and a call of it as far as asked for. */
  call(project: SampleProject, until: 'created' | 'live' | 'ended', body?: object): Promise<MadeCall>;
  /** A carrier whose callbacks are signed with a key: the Telnyx of the world's account. */
  carrierPublicKey: string;
  signed(body: string): Record<string, string>;
  /** The same at the emulated Plivo, whose callbacks may be GETs; over path and query, and the form that is posted. */
  plivo: {
    accountId: string;
    credentials: Record<string, string>;
    signed(pathAndQuery: string, form?: URLSearchParams): Record<string, string>;
    setFaults(faults: { kind: 'refuse'; status: number; count: number }[]): void;
    /** Somebody complains about a call of the account. */
    complain(referenceId: string): void;
  };
  /** The query of a link to a path below `/media`. */
  mediaQuery(path: string): string;
}

export interface MadeCall {
  session_id: string;
  recording_id: string;
}

/**
 * Sends a request to the scenario's operation and expects `status`, or one of them. Path parameters are those of the
 * world's project unless `ids` names others, the caller is its admin key, or the owner where keys are refused.
 */
export type Send = <T = Record<string, unknown>>(
  status: number | readonly number[],
  request?: SampleRequest,
) => Promise<SampleAnswer<T>>;

/** Brings about what no general means does: an operation's success, its own 409, 403, 5xx. */
export type Scenario = (world: SampleWorld, send: Send) => Promise<unknown>;

/** Tenant of the many, to be spread into their records. */
export interface ManyAt {
  inOrg: { org_id: string };
  inProject: { org_id: string; project_id: string };
}

export interface Many {
  collection: string;
  /** What has a limit is filled up to it. `unbounded`: as many as the test was asked for. */
  count: number | 'unbounded';
  /** Of a thousand records one or two are `rare`: filters for them must not read the rest. */
  record(n: number, rare: boolean): Record<string, unknown>;
}

export const MANY_START = Date.parse('2020-01-01T00:00:00Z');
/** Between two records: a filter for starts reads eight days of creations more than it returns. */
export const MANY_APART_MS = 20 * 60_000;
export const MANY_NUMBER = '+14155550100';
export const RARE_NUMBER = '+14155550199';
/** The session whose parts are many. */
export const MANY_SESSION = '01890000-0000-7000-8000-000000000001';

/** Id of the n-th of many. */
export function nthId(prefix: string, n: number): string {
  return `${prefix}_${String(n).padStart(26, '0')}`;
}

export function nthSession(n: number): string {
  return `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`;
}

/** From where pages speak with the sample's agents. */
export const SAMPLE_ORIGIN = 'https://page.example.com';

/** A name that nothing has yet. */
export function unique(): string {
  return `a_${randomUUID().replaceAll('-', '_')}`;
}

/** `/v1/orgs/…` */
export function orgPath({ ids }: SampleProject): string {
  return `/v1/orgs/${ids['org_id']}`;
}

/** `/v1/orgs/…/projects/…` */
export function projectPath({ ids }: SampleProject): string {
  return `${orgPath({ ids, key: '' })}/projects/${ids['project_id']}`;
}

/** A project of an org that pays in advance and has not; its owner is the world's. */
export async function pennilessProject({ make, put }: SampleWorld): Promise<SampleProject['ids']> {
  const org_id = (await make('/v1/orgs', { name: unique() })).id;
  const { id: project_id } = await make(`/v1/orgs/${org_id}/projects`, { name: unique() });
  const nothing = { balance_nano: 0, reserved_nano: 0, holds: {}, pending: [], revision: 0 };
  await put('wallets', { _id: org_id, org_id, mode: 'prepaid', currency: 'USD', ...nothing });
  return { org_id, project_id };
}

/** An agent of a penniless project. */
export async function pennilessAgent(world: SampleWorld, more: object = {}): Promise<string> {
  const ids = await pennilessProject(world);
  return (await world.make(`${projectPath({ ids, key: '' })}/agents`, { name: unique(), ...more })).id;
}

/** An agent of its own, for what is to be archived or deleted. */
export async function newAgent({ make, project }: SampleWorld, more: object = {}): Promise<string> {
  return (await make(`${projectPath(project)}/agents`, { name: unique(), ...more }, project.key)).id;
}

export async function archivedAgent(world: SampleWorld): Promise<string> {
  const agent_id = await newAgent(world);
  const { status } = await world.cp.call('DELETE', `/v1/agents/${agent_id}`, { token: world.project.key });
  if (status !== 204) throw new Error(`not archived: ${status}`);
  return agent_id;
}
