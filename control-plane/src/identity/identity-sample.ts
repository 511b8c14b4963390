import { newId } from '@parley/shared/ids/new-id';
import { orgPath, unique } from '../composition/sample.ts';
import type { Sample, SampleWorld } from '../composition/sample.ts';

const PASSWORD = 'correct horse battery';

async function mailedToken({ cp }: SampleWorld, to: string): Promise<string> {
  for (;;) {
    const mail = cp.mails.findLast((one) => one.to === to);
    const token = mail && /token=([\w-]+)/.exec(mail.text)?.[1];
    if (token !== undefined) return token;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function newUser({ cp }: SampleWorld) {
  const email = `${unique()}@example.com`;
  const { body } = await cp.call<{ access_token: string; refresh_token: string }>(
    'POST',
    '/auth/v1/register',
    { token: null, body: { email, password: PASSWORD, name: 'Somebody' } },
  );
  return { email, token: body.access_token, refreshToken: body.refresh_token };
}

export const identitySample: Sample = {
  publicBodies: {
    register: { email: 'x@example.com', password: PASSWORD, name: 'X' },
    login: { email: 'x@example.com', password: PASSWORD },
    refresh: { refresh_token: 'x' },
    logout: { refresh_token: 'x' },
    forgotPassword: { email: 'x@example.com' },
    resetPassword: { token: 'x', new_password: PASSWORD },
    acceptInvite: { token: 'x' },
  },
  scenarios: {
    register: async (world, send) => {
      const body = { email: `${unique()}@example.com`, password: PASSWORD, name: 'Somebody' };
      await send(201, { token: null, body });
      await send(409, { token: null, body });
    },
    login: async (world, send) => {
      const { email } = await newUser(world);
      await send(200, { token: null, body: { email, password: PASSWORD } });
      await send(401, { token: null, body: { email, password: 'wrong horse battery' } });
    },
    refresh: async (world, send) => {
      const { refreshToken } = await newUser(world);
      await send(200, { token: null, body: { refresh_token: refreshToken } });
      await send(401, { token: null, body: { refresh_token: 'unheard of' } });
    },
    logout: async (world, send) => {
      const { refreshToken } = await newUser(world);
      await send(204, { token: null, body: { refresh_token: refreshToken } });
    },
    changePassword: async (world, send) => {
      const { token } = await newUser(world);
      await send(204, { token, body: { current_password: PASSWORD, new_password: 'another horse battery' } });
    },
    forgotPassword: (_, send) => send(202, { token: null, body: { email: 'nobody@example.com' } }),
    resetPassword: async (world, send) => {
      const { email } = await newUser(world);
      await world.cp.call('POST', '/auth/v1/password/forgot', { token: null, body: { email } });
      const token = await mailedToken(world, email);
      await send(204, { token: null, body: { token, new_password: 'another horse battery' } });
      await send(401, { token: null, body: { token, new_password: 'another horse battery' } });
    },
    acceptInvite: async (world, send) => {
      const invite = async (email: string) => {
        await world.make(`${orgPath(world.project)}/invites`, { email, role: 'viewer' });
        return mailedToken(world, email);
      };
      const token = await invite(`${unique()}@example.com`);
      await send(200, { token: null, body: { token, name: 'New', password: PASSWORD } });
      await send(401, { token: null, body: { token, name: 'New', password: PASSWORD } });
      const { email, token: theirs } = await newUser(world);
      const second = await invite(email);
      await send(403, { token: world.owner.token, body: { token: second } });
      // Somebody else has made them a member meanwhile.
      const me = await world.cp.call<{ user_id: string }>('GET', '/auth/v1/profile', { token: theirs });
      await world.put('members', {
        _id: newId('mbr'),
        org_id: world.project.ids['org_id'],
        user_id: me.body.user_id,
        role: 'viewer',
        status: 'active',
      });
      await send(409, { token: theirs, body: { token: second } });
    },
    updateProfile: (_, send) => send(200, { body: { name: 'Owner' } }),
  },
};
