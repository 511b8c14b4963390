import { api, take } from './client.ts';
import type { components } from './schema.d.ts';
import { session } from './session.ts';

type Registration = components['schemas']['RegisterRequest'];

/** Registers a person and signs them in. @throws ApiError */
export async function register(person: Registration): Promise<void> {
  const { refresh_token } = await take(api.POST('/auth/v1/register', { body: person }));
  await exchange(refresh_token, person.email, person.password);
}

/** Accepts an invite as somebody who has no account yet, and signs them in. @throws ApiError */
export async function acceptInvite(token: string, person: { email: string; name: string; password: string }) {
  const { email, name, password } = person;
  const answer = await take(api.POST('/auth/v1/invites/accept', { body: { token, name, password } }));
  if ('refresh_token' in answer) await exchange(answer.refresh_token, email, password);
}

/** The API gives a sign-in of its own; the console's is one that scripts cannot read. */
async function exchange(refreshToken: string, email: string, password: string): Promise<void> {
  await session.signIn(email, password);
  await api.POST('/auth/v1/logout', { body: { refresh_token: refreshToken } });
}
