import { agentCollection } from '../agents/agent-model.ts';
import { createApiKeys } from '../api-keys/api-key-feature.ts';
import { createBilling } from '../billing/billing-feature.ts';
import { createFeatureFlags } from '../feature-flags/feature-flag-feature.ts';
import { createIdentity, createSignIn } from '../identity/identity-feature.ts';
import { createInvoices } from '../invoices/invoice-feature.ts';
import { createMe } from '../me/me-feature.ts';
import { createMembers } from '../members/member-feature.ts';
import { memberCollection } from '../members/member-model.ts';
import { createOrgs } from '../orgs/org-feature.ts';
import { orgCollection } from '../orgs/org-model.ts';
import { createProjects } from '../projects/project-feature.ts';
import type { ModelCatalog } from '../providers/model-catalog.ts';
import { createRateLimits } from '../rate-limits/rate-limit-feature.ts';
import { hasLiveSessions, sessionExists } from '../sessions/live-sessions.ts';
import { telephonyAccountCollection } from '../telephony/telephony-account-model.ts';
import { createUsage } from '../usage/usage-feature.ts';
import type { AllFeatures } from './all-features.ts';
import type { Platform } from './platform.ts';

/** Who uses an installation: people and their orgs, the projects of these, and what each may do. */
export function createTenantFeatures(
  features: AllFeatures,
  { models, ...platform }: Platform & { models: ModelCatalog },
) {
  features.add(createMe());
  const { userAccounts, signIns, passwordSignIn, passwordReset } = features.add(createIdentity(platform));
  const liveSessions = hasLiveSessions(platform.database);
  const { orgs } = features.add(createOrgs({ ...platform, liveSessions, members: memberCollection }));
  const { projects } = features.add(
    createProjects({
      ...platform,
      models,
      telephonyAccounts: telephonyAccountCollection,
      uses: (scope) => features.usesOfProject(scope),
    }),
  );
  const { members } = features.add(createMembers({ ...platform, userAccounts }));
  features.add(
    createSignIn({
      ...platform,
      ...{ userAccounts, signIns, passwordSignIn, passwordReset, orgs, projects, members },
    }),
  );
  const { apiKeys } = features.add(createApiKeys(platform));
  features.add(createFeatureFlags({ orgs, features }));
  const { rateLimits, outboundLimits, toolCallLimits } = features.add(
    createRateLimits({
      ...platform,
      targets: { agents: agentCollection, telephonyAccounts: telephonyAccountCollection },
    }),
  );
  const currency = (orgId: string): Promise<string> => rates.currency(orgId);
  const { usage, usageSums } = features.add(createUsage({ ...platform, currency }));
  const { callCosts, charges, chatCharges, rates, speechCharges, wallets } = features.add(
    createBilling({
      ...{ ...platform, models, bookedCalls: usageSums },
      isSession: sessionExists(platform.database),
    }),
  );
  const { invoices, invoiceCloser, invoicePrinter } = features.add(
    createInvoices({
      ...platform,
      orgs: orgCollection,
      usage: {
        complete: (signal) => usageSums.work(signal),
        byProject: (scope, fromMs, toMs) => usage.byProject(scope, fromMs, toMs),
        currency: (orgId) => usage.currency(orgId),
        outsideCalls: (scope, of) => charges.total(scope, of),
      },
    }),
  );
  return {
    ...{ apiKeys, orgs, outboundLimits, projects, rateLimits, signIns, toolCallLimits, userAccounts },
    ...{ callCosts, chatCharges, invoiceCloser, invoicePrinter, invoices, passwordSignIn },
    ...{ rates, speechCharges, usageSums, wallets },
  };
}
