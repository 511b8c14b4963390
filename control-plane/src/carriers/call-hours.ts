import type { Clock } from '@parley/shared/time/clock';
import { isOpen, type CallingWindows } from '../calling-hours/calling-windows.ts';
import type { Directory } from '../tenancy/directory.ts';
import type { CalledNumber, DeployedNumber } from './deployed-number.ts';

const ALWAYS: Pick<CallingWindows, 'windows' | 'use_contact_timezone'> = {
  use_contact_timezone: false,
  windows: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], start: '00:00', end: '24:00' }],
};

/** When the agents of numbers take calls. */
export class CallHours {
  readonly #directory: Directory;
  readonly #clock: Clock;

  constructor(deps: { directory: Directory; clock: Clock }) {
    this.#directory = deps.directory;
    this.#clock = deps.clock;
  }

  /** Whether the deployment's agent answers now. */
  async isOpen(deployment: DeployedNumber, number: CalledNumber): Promise<boolean> {
    if (deployment.status === 'paused') return false;
    const { availability, closed_dates: closedDates } = deployment;
    if (!availability && closedDates.length === 0) return true;
    const windows = availability ?? { ...ALWAYS, timezone: await this.#timezoneOf(number) };
    return isOpen(windows, this.#clock.now(), { closedDates });
  }

  async #timezoneOf({ org_id, project_id }: CalledNumber): Promise<string> {
    const project = await this.#directory.project(project_id);
    return project?.timezone ?? (await this.#directory.org(org_id))?.timezone ?? 'UTC';
  }
}
