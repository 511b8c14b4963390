import type { ErrorRef } from '@parley/shared/errors/app-error';
import type { z } from 'zod';
import type { Operation } from '../http/operation.ts';
import type { PeriodicTask } from '../jobs/periodic-task.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { Sample } from './sample.ts';
import type { SearchSource } from './search-source.ts';

/**
 * What a feature brings besides its services: `createFeature` returns both in one object. Whatever the product and
 * its tests need to know of all features is read from here, so that a new one is its folder and a line of `agents.ts`
 * beside this file, or, where others ask for its services by name, the call that makes it there.
 */
export interface Feature {
  /** What it stores: its indexes are made at start, and an org that is removed takes its records along. */
  readonly collections?: readonly Collection<StoredRecord>[];
  /** Served to clients, and described. */
  readonly routes?: readonly Operation[];
  /** Served to gateways, on the internal listener. */
  readonly internalRoutes?: readonly Operation[];
  /** Path parameters that it gives a meaning to, with their schemas: any route may use them. */
  readonly parameters?: Readonly<Record<string, z.ZodType<string>>>;
  /** What goes with an agent, a session or an org. */
  readonly erases?: Erasures;
  /** What of it holds other records in place. */
  readonly uses?: Uses;
  /** Actions that it writes to the audit trail, such as `api_key.revoked`. */
  readonly audit?: readonly string[];
  /** What can be switched off for an org, all on by default. Routes name the key as their `feature`. */
  readonly flags?: readonly FeatureFlag[];
  /** What it does by itself while the control plane runs. */
  readonly workers?: readonly PeriodicWork[];
  /** What it keeps open, closed with the control plane. */
  readonly owns?: readonly AsyncDisposable[];
  /** What of it the search over an org finds. */
  readonly searches?: readonly SearchSource[];
  /** Records of each kind it has, for the tests that go through all features. */
  readonly samples?: readonly Sample[];
}

/** Work that no request does, again and again. */
export interface PeriodicWork {
  /** For logs. */
  readonly name: string;
  readonly everyMs: number;
  work(signal: AbortSignal): Promise<unknown>;
  /** Gets the task that runs it, to be woken when there is something new. */
  wakeWith?(task: PeriodicTask): void;
  /** Lets another process take over at once, when this one ends. */
  release?(): Promise<void>;
}

export interface FeatureFlag {
  readonly key: string;
  /** For a person: what is switched. */
  readonly description: string;
}

/** Removes what a feature keeps of something that goes. Safe to repeat. */
export interface Erasures {
  /** An agent is purged; its sessions stay. */
  agent?(scope: Scope, agentId: string): Promise<unknown>;
  /** What was said and told in a session is forgotten; that it was stays. */
  session?(sessionId: string): Promise<unknown>;
  /** An org is removed, with all its records: what it has elsewhere is given up before. */
  org?(scope: Scope): Promise<unknown>;
}

/** Live records of a feature that name others, as a 409 `resource_in_use` tells of them: at most 20. */
export interface Uses {
  /** Of an agent that is to be archived. */
  agent?(scope: Scope, agentId: string): Promise<ErrorRef[]>;
  /** Of a project (the scope's) that is to be archived. */
  project?(scope: Scope): Promise<ErrorRef[]>;
  /** Of a recipient list that is to be deleted. */
  list?(scope: Scope, listId: string): Promise<ErrorRef[]>;
  /** Of a phone number that is to be released or moved. */
  number?(scope: Scope, numberId: string): Promise<ErrorRef[]>;
  /** Of models and voices, whatever the project. */
  models?(orgId: string, ids: readonly string[]): Promise<ErrorRef[]>;
}
