/** MongoDB's error codes by name, as in its `error_codes.yml`; only those this store gives. */
export const errorCodes = {
  InternalError: 1,
  BadValue: 2,
  FailedToParse: 9,
  Unauthorized: 13,
  TypeMismatch: 14,
  Overflow: 15,
  InvalidLength: 16,
  IllegalOperation: 20,
  NamespaceNotFound: 26,
  IndexNotFound: 27,
  PathNotViable: 28,
  ConflictingUpdateOperators: 40,
  CursorNotFound: 43,
  NamespaceExists: 48,
  MaxTimeMSExpired: 50,
  InvalidIdField: 53,
  NotSingleValueField: 54,
  EmptyFieldName: 56,
  CommandNotFound: 59,
  ImmutableField: 66,
  CannotCreateIndex: 67,
  IndexAlreadyExists: 68,
  InvalidOptions: 72,
  InvalidNamespace: 73,
  IndexOptionsConflict: 85,
  IndexKeySpecsConflict: 86,
  OperationFailed: 96,
  NotAReplicaSet: 123,
  CommandNotSupported: 115,
  CannotIndexParallelArrays: 171,
  QueryPlanKilled: 175,
  InvalidIndexSpecificationOption: 197,
  NoQueryExecutionPlans: 291,
  QueryExceededMemoryLimitNoDiskUseAllowed: 292,
  BSONObjectTooLarge: 10334,
  DuplicateKey: 11000,
  OutOfDiskSpace: 14031,
} as const;

export type ErrorName = keyof typeof errorCodes;

/** An error a client sees, with MongoDB's own code. Codes without a name are "Location" codes, as MongoDB calls them. */
export class CommandError extends Error {
  readonly code: number;
  readonly codeName: string;
  /** More fields of the reply or write error, such as `keyPattern` and `keyValue`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorName | number, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.name = 'CommandError';
    this.code = typeof code === 'number' ? code : errorCodes[code];
    this.codeName = typeof code === 'number' ? `Location${code}` : code;
    this.details = details;
  }
}
