import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { wsTicketCollection } from './ws-ticket-model.ts';
import { WsTicketService } from './ws-ticket-service.ts';

export function createWsTickets(deps: Pick<Platform, 'clock' | 'database'>) {
  return {
    tickets: new WsTicketService(deps),
    collections: [wsTicketCollection],
  } satisfies Feature & { tickets: WsTicketService };
}
