import type { ErrorRef } from '@parley/shared/errors/app-error';
import type { z } from 'zod';
import { parameterNames } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { Feature, FeatureFlag, PeriodicWork } from './feature.ts';
import type { Sample } from './sample.ts';
import type { SearchSource } from './search-source.ts';

/**
 * The features of a control plane, in the order in which they were made. It is asked, and so may be handed to a
 * feature that is made before others which have something to say.
 */
export class AllFeatures {
  readonly #features: Feature[] = [];

  add<F extends Feature>(feature: F): F {
    this.#features.push(feature);
    return feature;
  }

  *[Symbol.iterator](): Iterator<Feature> {
    yield* this.#features;
  }

  get collections(): Collection<StoredRecord>[] {
    return this.#features.flatMap(({ collections }) => collections ?? []);
  }

  /** Every public route. @throws Error for a path parameter that no feature knows */
  get routes(): Operation[] {
    return this.#withParameters(this.#features.flatMap(({ routes }) => routes ?? []));
  }

  /** Routes of the internal listener. */
  get internalRoutes(): Operation[] {
    return this.#withParameters(this.#features.flatMap(({ internalRoutes }) => internalRoutes ?? []));
  }

  /** By key. */
  get flags(): FeatureFlag[] {
    return this.#features.flatMap(({ flags }) => flags ?? []).sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Actions that the audit trail may hold. */
  get audit(): Set<string> {
    return new Set(this.#features.flatMap(({ audit }) => audit ?? []));
  }

  get workers(): PeriodicWork[] {
    return this.#features.flatMap(({ workers }) => workers ?? []);
  }

  get searches(): SearchSource[] {
    return this.#features.flatMap(({ searches }) => searches ?? []);
  }

  get samples(): Sample[] {
    return this.#features.flatMap(({ samples }) => samples ?? []);
  }

  /** Removes what the features keep of an agent. */
  async eraseAgent(scope: Scope, agentId: string): Promise<void> {
    for (const { erases } of this.#features) await erases?.agent?.(scope, agentId);
  }

  /** Removes what the features keep of a session. */
  async eraseSession(sessionId: string): Promise<void> {
    for (const { erases } of this.#features) await erases?.session?.(sessionId);
  }

  /** Gives up what the features have elsewhere for an org; its records are removed by themselves. */
  async eraseOrg(scope: Scope): Promise<void> {
    for (const { erases } of this.#features) await erases?.org?.(scope);
  }

  /** What keeps an agent from being archived. */
  usesOfAgent(scope: Scope, agentId: string): Promise<ErrorRef[]> {
    return this.#asked(({ uses }) => uses?.agent?.(scope, agentId));
  }

  /** What keeps a project from being archived. */
  usesOfProject(scope: Scope): Promise<ErrorRef[]> {
    return this.#asked(({ uses }) => uses?.project?.(scope));
  }

  /** What keeps a recipient list from being deleted. */
  usesOfList(scope: Scope, listId: string): Promise<ErrorRef[]> {
    return this.#asked(({ uses }) => uses?.list?.(scope, listId));
  }

  /** What keeps a phone number from being released, besides the deployments that it has. */
  usesOfNumber(scope: Scope, numberId: string): Promise<ErrorRef[]> {
    return this.#asked(({ uses }) => uses?.number?.(scope, numberId));
  }

  /** What names models or voices. */
  usesOfModels(orgId: string, ids: readonly string[]): Promise<ErrorRef[]> {
    return this.#asked(({ uses }) => uses?.models?.(orgId, ids));
  }

  async #asked(ask: (feature: Feature) => Promise<ErrorRef[]> | undefined): Promise<ErrorRef[]> {
    return (await Promise.all(this.#features.map((feature) => ask(feature) ?? []))).flat();
  }

  /** Path parameters by name. @throws Error for one that two features have */
  get parameters(): Map<string, z.ZodType<string>> {
    const known = new Map<string, z.ZodType<string>>();
    for (const { parameters = {} } of this.#features) {
      for (const [name, schema] of Object.entries(parameters)) {
        if (known.has(name)) throw new Error(`Two features have the path parameter ${name}.`);
        known.set(name, schema);
      }
    }
    return known;
  }

  #withParameters(routes: readonly Operation[]): Operation[] {
    const known = this.parameters;
    return routes.map((route) => {
      const params = { ...route.params };
      for (const name of parameterNames(route.path)) {
        params[name] ??= known.get(name);
        if (!params[name]) throw new Error(`${route.id}: no feature has the path parameter ${name}.`);
      }
      return { ...route, params };
    });
  }
}
