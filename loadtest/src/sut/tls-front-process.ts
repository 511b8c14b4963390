import { connect, type AddressInfo } from 'node:net';
import { createServer } from 'node:tls';

/** Ends TLS in front of ports of this machine, as an ingress does, one port of its own for each. */
const { key, cert } = JSON.parse(process.argv[2]!) as { key: string; cert: string };

process.on('message', ({ target }: { target: number }) => {
  const server = createServer({ key, cert }, (outside) => {
    const inside = connect({ port: target, host: '127.0.0.1', noDelay: true });
    outside.setNoDelay(true);
    outside.pipe(inside);
    inside.pipe(outside);
    outside.on('error', () => inside.destroy());
    inside.on('error', () => outside.destroy());
    outside.on('close', () => inside.destroy());
    inside.on('close', () => outside.destroy());
  });
  server.listen(0, '127.0.0.1', () =>
    process.send!({ front: { target, port: (server.address() as AddressInfo).port } }),
  );
});
process.once('disconnect', () => process.exit(0));
// An interrupt at the terminal reaches the whole group: the parent decides when it is over.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.send!({ ready: {} });
