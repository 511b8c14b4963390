import type { IncomingMessage, Server } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { isGatewayUpgrade } from '@parley/shared/contracts/addresses';

/** A gateway on loopback answers at once or not at all. */
const CONNECT_TIMEOUT_MS = 5000;

/**
 * Gives WebSocket upgrades of the two gateway paths to a gateway on loopback, byte for byte, so that one public port
 * serves everything. In production the ingress does this.
 * @returns a function that stops it and cuts what is open
 */
export function pipeUpgrades(server: Server, gatewayPort: number): () => void {
  const open = new Set<Duplex>();

  const onUpgrade = (request: IncomingMessage, client: Duplex, head: Buffer) => {
    if (!isGatewayUpgrade(request.url ?? '')) {
      client.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      return;
    }
    const gateway = connect({ port: gatewayPort, host: '127.0.0.1', noDelay: true });
    const cut = () => {
      client.destroy();
      gateway.destroy();
      open.delete(client);
    };
    open.add(client);
    gateway.setTimeout(CONNECT_TIMEOUT_MS, cut);
    client.on('error', cut).on('close', cut);
    gateway.on('error', cut).on('close', cut);
    gateway.once('connect', () => {
      gateway.setTimeout(0);
      let text = `${request.method} ${request.url} HTTP/${request.httpVersion}\r\n`;
      for (let i = 0; i < request.rawHeaders.length; i += 2)
        text += `${request.rawHeaders[i]}: ${request.rawHeaders[i + 1]}\r\n`;
      // As an ingress does: the gateway counts clients, and believes this pipe.
      text += `X-Forwarded-For: ${request.socket.remoteAddress ?? ''}\r\n`;
      gateway.write(`${text}\r\n`, 'latin1');
      if (head.length > 0) gateway.write(head);
      client.pipe(gateway).pipe(client);
    });
  };

  server.on('upgrade', onUpgrade);
  return () => {
    server.off('upgrade', onUpgrade);
    for (const client of open) client.destroy();
  };
}
