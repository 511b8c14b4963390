/**
 * Errors of the MongoDB driver and of Mongoose that say the database can't be reached, whatever was asked of it.
 * @see https://www.mongodb.com/docs/drivers/node/current/connect/connection-troubleshooting/
 */
const DRIVER_ERRORS = [
  'MongoServerSelectionError',
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'MongoNotConnectedError',
  'MongoPoolClearedError',
  'MongoPoolClosedError',
  'MongoServerClosedError',
  'MongoTopologyClosedError',
  'MongoWaitQueueTimeoutError',
  'MongoOperationTimeoutError',
  'MongooseServerSelectionError',
];

/**
 * Answers of a server that is there but can't be used: stepping down, shutting down, cut off, its disk full.
 * @see https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml
 */
const SERVER_CODES = [
  6, // HostUnreachable
  7, // HostNotFound
  64, // WriteConcernTimeout
  89, // NetworkTimeout
  91, // ShutdownInProgress
  189, // PrimarySteppedDown
  262, // ExceededTimeLimit
  9001, // SocketException
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11602, // InterruptedDueToReplStateChange
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
  14031, // OutOfDiskSpace
];

/** Whether the database could not be reached, or can't do anything for anybody now. */
export function isDatabaseUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (DRIVER_ERRORS.includes(error.name)) return true;
  return error.name.startsWith('Mongo') && 'code' in error && SERVER_CODES.includes(Number(error.code));
}

/** Errors of the file system that are the machine's, not the file's. */
const DISK_ERRORS = ['EIO', 'ENOSPC', 'EDQUOT', 'EROFS', 'ESTALE', 'EMFILE', 'ENFILE', 'ETIMEDOUT'];

const DISK_FULL: readonly unknown[] = [14031, 'ENOSPC', 'EDQUOT'];

/** Whether the folder of recordings can't be used now. */
export function isDiskUnusable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && DISK_ERRORS.includes(String(error.code));
}

/** Whether a write found no space, in the database (OutOfDiskSpace) or in a file. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && DISK_FULL.includes(error.code);
}
