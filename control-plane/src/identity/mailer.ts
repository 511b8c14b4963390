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

/** Without a mail server the operator reads mails in the log and passes the links on. */
export class LogMailer implements Mailer {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  send(mail: Mail): Promise<void> {
    this.#logger.warn({ mail }, 'no mail server is configured: this e-mail was not sent');
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
