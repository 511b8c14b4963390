import t from 'tap';
import { loadUws } from './load-uws.ts';

void t.test('the older binary stands in where the newer one does not load', async (t) => {
  const asked: string[] = [];
  const uws = loadUws(16_384, (name) => {
    asked.push(name);
    if (name === 'uWebSockets.js') throw new Error('GLIBC_2.38 not found');
    return { App: 'compat' };
  });
  t.same(asked, ['uWebSockets.js', 'uwebsockets-compat']);
  t.match(uws, { App: 'compat' });
});

void t.test('a platform without any binary is told by name, with what to use instead', async (t) => {
  t.throws(
    () =>
      loadUws(16_384, (name) => {
        throw new Error(`Supports only…\n\nError: no binary in ${name}`);
      }),
    {
      message: new RegExp(
        `${process.platform}-${process.arch} with Node ${process.versions.node}.*Use Node 22[^]*no binary in uwebsockets-compat`,
      ),
    },
  );
});
