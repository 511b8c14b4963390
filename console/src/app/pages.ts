import type { ComponentType } from 'react';
import type { LucideIcon } from 'lucide-react';
import * as icons from '../components/icons.ts';
import { Bot, Megaphone, ShieldCheck } from '../components/build-icons.ts';
import { RECORD_KINDS } from './record-kinds.ts';

/** What a person does there: the headings of the navigation, in its order. */
export const GROUPS = ['Conversations', 'Build', 'Telephony', 'Organisation'] as const;

export interface Page {
  /** With `$projectId` or `$orgId` where it needs one; see TanStack Router. */
  path: string;
  title: string;
  /** Where the navigation has it; without one it is reached from other pages. `top` stands above all groups. */
  group?: (typeof GROUPS)[number] | 'top';
  icon?: LucideIcon;
  /** Least role that is offered it; `viewer` when not given. */
  role?: 'editor' | 'admin' | 'owner';
  load: () => Promise<{ default: ComponentType }>;
}

/** Every page behind the sign-in. A page's file is loaded when it is first opened. */
export const PAGES: readonly Page[] = [
  {
    path: '/projects/$projectId/home',
    title: 'Home',
    group: 'top',
    icon: icons.House,
    load: () => import('../pages/home/home-page.tsx'),
  },
  {
    path: '/projects/$projectId/calls',
    title: 'Calls',
    group: 'Conversations',
    icon: icons.Phone,
    load: () => import('../pages/calls/calls-page.tsx'),
  },
  {
    path: '/projects/$projectId/calls/$sessionId',
    title: 'Call',
    load: () => import('../pages/call/call-page.tsx'),
  },
  {
    path: '/projects/$projectId/agents/$agentId/talk',
    title: 'Talk',
    role: 'editor',
    load: () => import('../pages/talk/talk-page.tsx'),
  },
  {
    path: '/projects/$projectId/agents',
    title: 'Agents',
    group: 'Build',
    icon: Bot,
    load: () => import('../pages/agents/agents-page.tsx'),
  },
  {
    path: '/projects/$projectId/agents/$agentId',
    title: 'Agent',
    load: () => import('../pages/agents/agent-page.tsx'),
  },
  {
    path: '/projects/$projectId/agents/$agentId/flow',
    title: 'Flow',
    load: () => import('../pages/flow/flow-page.tsx'),
  },
  {
    path: '/projects/$projectId/agents/$agentId/tests',
    title: 'Tests',
    load: () => import('../pages/agents/tests-page.tsx'),
  },
  {
    path: '/projects/$projectId/agents/$agentId/versions',
    title: 'Versions',
    load: () => import('../pages/agents/versions-page.tsx'),
  },
  {
    path: '/projects/$projectId/agents/$agentId/advance',
    title: 'Advance',
    load: () => import('../pages/agents/advance-page.tsx'),
  },
  {
    path: '/projects/$projectId/campaigns',
    title: 'Campaigns',
    group: 'Telephony',
    icon: Megaphone,
    load: () => import('../pages/campaigns/campaigns-page.tsx'),
  },
  {
    path: '/projects/$projectId/campaigns/new',
    title: 'New campaign',
    role: 'editor',
    load: () => import('../pages/campaigns/new-campaign-page.tsx'),
  },
  {
    path: '/projects/$projectId/campaigns/$campaignId',
    title: 'Campaign',
    load: () => import('../pages/campaigns/campaign-page.tsx'),
  },
  ...RECORD_KINDS.map(({ id, title, group, icon }) => ({
    path: `/projects/$projectId/${id}`,
    title,
    group,
    icon,
    load: () => import('../pages/records/records-page.tsx'),
  })),
  {
    path: '/projects/$projectId/ucc-complaints',
    title: 'Complaints',
    group: 'Telephony',
    icon: ShieldCheck,
    load: () => import('../pages/complaints/complaints-page.tsx'),
  },
  {
    path: '/orgs/$orgId/projects',
    title: 'Projects',
    group: 'Organisation',
    icon: icons.FolderKanban,
    load: () => import('../pages/projects/projects-page.tsx'),
  },
  {
    path: '/orgs/$orgId/settings',
    title: 'Organisation',
    group: 'Organisation',
    icon: icons.Building2,
    load: () => import('../pages/org-settings/org-settings-page.tsx'),
  },
  {
    path: '/projects/$projectId/settings',
    title: 'Project',
    group: 'Organisation',
    icon: icons.Settings,

    load: () => import('../pages/project-settings/project-settings-page.tsx'),
  },
  {
    path: '/projects/$projectId/api-keys',
    title: 'API keys',
    group: 'Organisation',
    icon: icons.KeyRound,
    role: 'editor',
    load: () => import('../pages/api-keys/api-keys-page.tsx'),
  },
  {
    path: '/orgs/$orgId/members',
    title: 'Members',
    group: 'Organisation',
    icon: icons.Users,

    load: () => import('../pages/members/members-page.tsx'),
  },
  {
    path: '/orgs/$orgId/rate-limits',
    title: 'Rate limits',
    group: 'Organisation',
    icon: icons.Gauge,

    load: () => import('../pages/rate-limits/rate-limits-page.tsx'),
  },
  {
    path: '/orgs/$orgId/usage',
    title: 'Usage',
    group: 'Organisation',
    icon: icons.ChartColumn,
    load: () => import('../pages/usage/usage-page.tsx'),
  },
  {
    path: '/orgs/$orgId/billing',
    title: 'Billing',
    group: 'Organisation',
    icon: icons.Wallet,
    load: () => import('../pages/billing/billing-page.tsx'),
  },
  {
    path: '/orgs/$orgId/feature-flags',
    title: 'Features',
    group: 'Organisation',
    icon: icons.ToggleRight,

    load: () => import('../pages/feature-flags/feature-flags-page.tsx'),
  },
  {
    path: '/orgs/$orgId/audit',
    title: 'Audit trail',
    group: 'Organisation',
    icon: icons.ScrollText,
    role: 'admin',
    load: () => import('../pages/audit/audit-page.tsx'),
  },
];
