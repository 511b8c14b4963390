import type { CallingWindows } from '../calling-hours/calling-windows.ts';

/** A number of an account, as its calls need it. */
export interface CalledNumber {
  _id: string;
  org_id: string;
  project_id: string;
  telephony_account_id: string;
  phone_number: string;
  status: string;
}

/** Numbers in use: `PhoneNumberService`. */
export interface CalledNumbers {
  findActive(accountId: string, phoneNumber: string): Promise<CalledNumber | null>;
}

/** What becomes of a call that the agent does not take. */
interface Action {
  type: 'hangup' | 'message' | 'forward' | 'agent';
  message: string;
  forward_to: string | null;
  agent_id: string | null;
}

/** Who answers a number, and when. */
export interface DeployedNumber {
  _id: string;
  phone_number_id: string;
  agent_id: string;
  /** null = by the agent's traffic rule. */
  agent_version: number | null;
  status: 'active' | 'paused';
  availability: CallingWindows | null;
  closed_dates: string[];
  outside_hours: Action;
  overflow: { max_concurrent: number | null; action: Action };
  blocked_numbers: string[];
  variables: Record<string, string>;
}

/** Which agent answers a number: `InboundDeploymentService`. */
export interface NumberDeployments {
  forNumber(numberId: string): Promise<DeployedNumber | null>;
}
