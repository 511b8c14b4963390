import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { StartLinks } from './start-links.ts';

const from = { address: '127.0.0.1' };
const tokens = { access_token: 'a', token_type: 'bearer', expires_in: 900, refresh_token: 'r' } as const;

function make() {
  const clock = new ManualClock(0);
  const owners: string[] = [];
  let users = 0;
  const links = new StartLinks({
    clock,
    consoleUrl: 'http://127.0.0.1:8081',
    userAccounts: { localOwner: () => Promise.resolve({ user: { _id: 'usr_1' }, isNew: users++ === 0 }) },
    orgs: {
      first: () => Promise.resolve({ _id: 'org_1' }),
      addOwner: (orgId, userId) => Promise.resolve(void owners.push(`${orgId} ${userId}`)),
    },
    signIns: { start: () => Promise.resolve(tokens) },
  });
  const codeOf = (link: string) => new URLSearchParams(new URL(link).hash.slice(1)).get('code')!;
  return { clock, owners, links, newCode: () => codeOf(links.create()) };
}

void t.test('a link signs in once, and makes its first bearer an owner', async (t) => {
  const { links, owners, newCode } = make();
  const code = newCode();
  t.match(
    links.create(),
    /^http:\/\/127\.0\.0\.1:8081\/start#code=[\w-]{43}$/,
    'the code is in the fragment',
  );
  t.same(await links.redeem(code, from), tokens);
  await t.rejects(links.redeem(code, from), { code: 'unauthenticated' });
  await t.rejects(links.redeem('', from), { code: 'unauthenticated' });
  await links.redeem(newCode(), from);
  t.same(owners, ['org_1 usr_1']);
});

void t.test('of two who use a link at once one gets in', async (t) => {
  const { links, newCode } = make();
  const code = newCode();
  const tries = await Promise.allSettled([links.redeem(code, from), links.redeem(code, from)]);
  t.same(tries.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
});

void t.test('a link is good for ten minutes, and the ten newest are kept', async (t) => {
  const { clock, links, newCode } = make();
  const code = newCode();
  clock.advance(599_999);
  const late = newCode();
  await links.redeem(code, from);
  clock.advance(600_000);
  await t.rejects(links.redeem(late, from), { code: 'unauthenticated' });
  const codes = Array.from({ length: 11 }, newCode);
  await t.rejects(links.redeem(codes[0]!, from));
  await links.redeem(codes[1]!, from);
});
