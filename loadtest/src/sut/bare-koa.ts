import type { AddressInfo } from 'node:net';
import Koa from 'koa';

/** What no route over Koa can be faster than: answers everything with the JSON it was started with. */
const body = JSON.parse(process.argv[2]!) as object;
const app = new Koa();
app.use((ctx) => {
  ctx.body = body;
});
const server = app.listen(0, '127.0.0.1', () => {
  process.send!({ ready: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } });
});
process.once('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
