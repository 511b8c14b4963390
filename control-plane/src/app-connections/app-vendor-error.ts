/**
 * A vendor did not do what it was asked for. The message is safe to show.
 * - `refused`: the credential is no good, or the person did not agree
 * - `client_refused`: the installation's OAuth client is not known there, or has another secret
 * - `unreachable`: no answer, or one that says nothing of the credential
 */
export class AppVendorError extends Error {
  readonly fault: 'refused' | 'client_refused' | 'unreachable';

  constructor(fault: AppVendorError['fault'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AppVendorError';
    this.fault = fault;
  }
}
