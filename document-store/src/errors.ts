/** MongoDB's error codes by name, as in its `error_codes.yml`; only those this store gives. */
const errorCodes = {
  InternalError: 1,
  BadValue: 2,
  FailedToParse: 9,
  Unauthorized: 13,
  TypeMismatch: 14,
  Overflow: 15,
  InvalidLength: 16,
  IllegalOperation: 20,
  InvalidBSON: 22,
  NamespaceNotFound: 26,
  IndexNotFound: 27,
  PathNotViable: 28,
  ConflictingUpdateOperators: 40,
  CursorNotFound: 43,
  NamespaceExists: 48,
  DollarPrefixedFieldName: 52,
  InvalidIdField: 53,
  NotSingleValueField: 54,
  EmptyFieldName: 56,
  CommandNotFound: 59,
  ImmutableField: 66,
  CannotCreateIndex: 67,
  IndexAlreadyExists: 68,
  InvalidOptions: 72,
  InvalidNamespace: 73,
  NoReplicationEnabled: 76,
  UnknownReplWriteConcern: 79,
  IndexOptionsConflict: 85,
  IndexKeySpecsConflict: 86,
  OperationFailed: 96,
  NotAReplicaSet: 123,
  InvalidPipelineOperator: 168,
  CannotIndexParallelArrays: 171,
  QueryPlanKilled: 175,
  InvalidIndexSpecificationOption: 197,
  NoQueryExecutionPlans: 291,
  QueryExceededMemoryLimitNoDiskUseAllowed: 292,
  APIVersionError: 322,
  MechanismUnavailable: 334,
  BSONObjectTooLarge: 10334,
  DuplicateKey: 11000,
  OutOfDiskSpace: 14031,
} as const;

const names = new Map<number, string>(Object.entries(errorCodes).map(([name, code]) => [code, name]));

export type ErrorName = keyof typeof errorCodes;

/** An error a client sees, with MongoDB's own code. Codes that have no name here are "Location" codes, as MongoDB calls them. */
export class CommandError extends Error {
  readonly code: number;
  readonly codeName: string;
  /** More fields of the reply or write error, such as `keyPattern` and `keyValue`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorName | number, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.name = 'CommandError';
    this.code = typeof code === 'number' ? code : errorCodes[code];
    this.codeName = names.get(this.code) ?? `Location${this.code}`;
    this.details = details;
  }
}
