import { randomBytes } from 'node:crypto';
import type { MaskedSecret } from '../crypto/secret-box.ts';
import { maskSecret } from '../crypto/secret-box.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { Database } from '../storage/database.ts';
import type { Scope } from '../tenancy/scope.ts';
import { agentSecretCollection } from './agent-model.ts';
import type { AgentSecretRecord } from './agent-model.ts';

// Where a header value stands in a stored config: the id of the secret and what may be shown of it. The first
// character cannot be part of a header value that a client sends, so nobody can write a reference by hand.
const REFERENCE = /^\u0001([0-9a-f]{32}):(.*)$/;

/** Header values of an agent's config: kept encrypted elsewhere, referred to from the config and its versions. */
export class HeaderSecrets {
  readonly #database: Database;
  readonly #box: SecretBox;

  constructor({ database, box }: { database: Database; box: SecretBox }) {
    this.#database = database;
    this.#box = box;
  }

  /** Stores what is new. `headers` hold values, or references that are kept. @returns references only */
  async store(
    scope: Scope,
    agentId: string,
    headers: Record<string, string>,
  ): Promise<Record<string, string>> {
    const stored: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) {
      if (REFERENCE.test(value)) {
        stored[name] = value;
        continue;
      }
      const id = randomBytes(16).toString('hex');
      await scope
        .collection(agentSecretCollection)
        .insert({ _id: id, agent_id: agentId, value: this.#box.encryptSecret(value) });
      stored[name] = `\u0001${id}:${maskSecret(value).last_four}`;
    }
    return stored;
  }

  /** References to values, for a request about to be made. */
  async reveal(headers: Record<string, string>): Promise<Record<string, string>> {
    const ids = Object.values(headers).flatMap((value) => REFERENCE.exec(value)?.[1] ?? []);
    if (ids.length === 0) return {};
    const records = await this.#database
      .model(agentSecretCollection)
      .find({ _id: { $in: ids } })
      .limit(ids.length)
      .lean<AgentSecretRecord[]>();
    const values = new Map(records.map((record) => [record._id, this.#box.decryptSecret(record.value)]));
    return Object.fromEntries(
      Object.entries(headers).flatMap(([name, reference]) => {
        const value = values.get(REFERENCE.exec(reference)?.[1] ?? '');
        return value === undefined ? [] : [[name, value]];
      }),
    );
  }

  /** Removes an agent's secrets. */
  async forget(scope: Scope, agentId: string): Promise<void> {
    await scope.collection(agentSecretCollection).deleteMany({ agent_id: agentId });
  }
}

/** What a client sees of stored headers. */
export function maskHeaders(headers: Record<string, string>): Record<string, MaskedSecret> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      { set: true, last_four: REFERENCE.exec(value)?.[2] ?? '' },
    ]),
  );
}
