/** The environment does not describe a process that can start. Lists every bad variable by name, no value. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(`The configuration is invalid:\n${problems.map((p) => `  ${p}`).join('\n')}`, options);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}
