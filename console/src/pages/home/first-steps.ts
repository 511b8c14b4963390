/** What a project has, as far as the way to a first call goes. */
export interface Beginnings {
  agents: number;
  calls: number;
  numbers: number;
}

export type StepId = 'agent' | 'talk' | 'number';
export interface Step {
  id: StepId;
  done: boolean;
}

/**
 * The steps to a first call, in their order: what is done shows in the records themselves.
 * @param skipped steps that the person wants to see no more
 * @returns none once each is done or skipped
 */
export function firstSteps({ agents, calls, numbers }: Beginnings, skipped: ReadonlySet<string>): Step[] {
  const steps: Step[] = [
    { id: 'agent', done: agents > 0 },
    { id: 'talk', done: calls > 0 },
    { id: 'number', done: numbers > 0 },
  ];
  const open = steps.filter(({ id, done }) => !done && !skipped.has(id));
  return open.length === 0 ? [] : steps.filter(({ id }) => !skipped.has(id));
}
