import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import { AgentWebhookService, WEBHOOK_AUDIT } from './agent-webhook-service.ts';
import { webhookDeliveryCollection } from './webhook-delivery-model.ts';
import { WebhookDeliveryService } from './webhook-delivery-service.ts';
import { webhookRoutes } from './webhook-routes.ts';
import { webhookSample } from './webhook-sample.ts';

/** How often what is due is looked for; what is new wakes the task. */
const DELIVERY_INTERVAL_MS = 5000;

type WebhookDeps = ConstructorParameters<typeof AgentWebhookService>[0];
type DeliveryDeps = ConstructorParameters<typeof WebhookDeliveryService>[0];

export function createWebhooks({
  config,
  processName,
  ...deps
}: WebhookDeps & Omit<DeliveryDeps, 'owner' | 'webhooks'> & Pick<Platform, 'config' | 'processName'>) {
  const agentWebhooks = new AgentWebhookService(deps);
  const deliveries = new WebhookDeliveryService({ ...deps, webhooks: agentWebhooks, owner: processName });
  return {
    ...{ agentWebhooks, deliveries },
    collections: [webhookDeliveryCollection],
    routes: webhookRoutes({ agentWebhooks, deliveries, publicUrl: config.PUBLIC_URL }),
    parameters: { delivery_id: idSchema('whd') },
    erases: { session: (sessionId: string) => deliveries.erase(sessionId) },
    audit: WEBHOOK_AUDIT,
    workers: [
      {
        name: 'webhook deliveries',
        everyMs: DELIVERY_INTERVAL_MS,
        work: (signal) => deliveries.work(signal),
        wakeWith: (task) => deliveries.wakeWith(task),
      },
    ],
    samples: [webhookSample],
  } satisfies Feature & { agentWebhooks: AgentWebhookService };
}
