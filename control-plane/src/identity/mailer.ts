import { createTransport } from 'nodemailer';
import type { Secret } from '@parley/shared/config/secret';
import type { Logger } from '@parley/shared/logging/logger';

export interface Mail {
  to: string;
  subject: string;
  text: string;
}

export interface Mailer {
  send(mail: Mail): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Stands in where there is no mail server. On a machine of one's own the log holds the mail, so that its link can be
 * used; elsewhere, where logs are collected and read by many, it says only that a mail was not sent.
 */
export class LogMailer implements Mailer {
  readonly #logger: Logger;
  readonly #withText: boolean;

  constructor(logger: Logger, { withText }: { withText: boolean }) {
    this.#logger = logger;
    this.#withText = withText;
  }

  send(mail: Mail): Promise<void> {
    this.#logger.warn(
      this.#withText ? { mail } : { subject: mail.subject },
      'no mail server is configured (SMTP_URL): this e-mail was not sent',
    );
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

/** Sends through one SMTP server. */
export class SmtpMailer implements Mailer {
  readonly #transport: ReturnType<typeof createTransport>;
  readonly #from: string;

  /** @param url `smtp://` or `smtps://` with credentials */
  constructor({ url, from }: { url: Secret; from: string }) {
    this.#transport = createTransport(url.reveal());
    this.#from = from;
  }

  async send(mail: Mail): Promise<void> {
    await this.#transport.sendMail({ from: this.#from, ...mail });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#transport.close();
    return Promise.resolve();
  }
}
