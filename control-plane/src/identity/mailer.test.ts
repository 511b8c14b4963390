import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { createInterface } from 'node:readline';
import t from 'tap';
import { Secret } from '@parley/shared/config/secret';
import { createLogger } from '@parley/shared/logging/logger';
import { LogMailer, SmtpMailer } from './mailer.ts';

interface Received {
  from: string;
  to: string;
  login: string;
  data: string;
}

/** As much of SMTP (RFC 5321, AUTH PLAIN of RFC 4954) as a client needs to hand over a mail. */
async function openSmtpServer(options: { refuse?: boolean } = {}) {
  const mails: Received[] = [];
  const server = createServer((socket: Socket) => {
    const mail: Received = { from: '', to: '', login: '', data: '' };
    let reading = false;
    const say = (line: string) => void socket.write(`${line}\r\n`);
    socket.on('error', () => undefined);
    createInterface({ input: socket }).on('line', (line) => {
      if (reading) {
        if (line !== '.') {
          mail.data += `${line}\n`;
          return;
        }
        reading = false;
        mails.push({ ...mail });
        say('250 kept');
      } else if (line.startsWith('EHLO')) {
        say('250-local');
        say('250 AUTH PLAIN');
      } else if (line.startsWith('AUTH PLAIN ')) {
        mail.login = Buffer.from(line.slice(11), 'base64').toString('utf8').split('\0').slice(1).join(':');
        say('235 welcome');
      } else if (line.startsWith('MAIL FROM:')) {
        mail.from = line.slice(10);
        say(options.refuse ? '550 not from you' : '250 go on');
      } else if (line.startsWith('RCPT TO:')) {
        mail.to = line.slice(8);
        say('250 go on');
      } else if (line === 'DATA') {
        reading = true;
        say('354 go on');
      } else if (line === 'QUIT') {
        say('221 bye');
        socket.end();
      } else say('250 go on');
    });
    say('220 local');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: new Secret(`smtp://parley:s3cret@127.0.0.1:${port}`),
    mails,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

void t.test('a mail reaches the SMTP server, signed in', async (t) => {
  const server = await openSmtpServer();
  const mailer = new SmtpMailer({ url: server.url, from: 'Parley <parley@example.com>' });
  const link = 'https://console.example.com/reset-password?token=abc';
  await mailer.send({ to: 'asha@example.com', subject: 'Choose a new password', text: `Here:\n${link}\n` });
  const [mail] = server.mails;
  t.equal(mail?.login, 'parley:s3cret');
  t.match(mail?.from, '<parley@example.com>');
  t.match(mail?.to, '<asha@example.com>');
  t.match(mail?.data, /^Subject: Choose a new password$/m);
  t.match(mail?.data.replaceAll('=\n', '').replaceAll('=3D', '='), link);
  await mailer[Symbol.asyncDispose]();
  await server.close();
});

void t.test('a subject cannot bring headers of its own', async (t) => {
  const server = await openSmtpServer();
  const mailer = new SmtpMailer({ url: server.url, from: 'parley@example.com' });
  await mailer.send({
    to: 'asha@example.com',
    subject: 'You are invited to A\r\nBcc: b@example.com',
    text: 'x',
  });
  t.notMatch(server.mails[0]?.data, /^Bcc:/m);
  await mailer[Symbol.asyncDispose]();
  await server.close();
});

void t.test('a refused mail is an error', async (t) => {
  const server = await openSmtpServer({ refuse: true });
  const mailer = new SmtpMailer({ url: server.url, from: 'parley@example.com' });
  await t.rejects(mailer.send({ to: 'asha@example.com', subject: 'a', text: 'b' }), /550/);
  await mailer[Symbol.asyncDispose]();
  await server.close();
});

void t.test('without a mail server the log holds a link only where that is wanted', async (t) => {
  const lines: string[] = [];
  const logger = createLogger({
    name: 'test',
    level: 'info',
    destination: { write: (line) => void lines.push(line) },
  });
  const mail = { to: 'asha@example.com', subject: 'Choose a new password', text: 'https://x/?token=abc' };
  await new LogMailer(logger, { withText: false }).send(mail);
  t.match(lines[0], /SMTP_URL/);
  t.notMatch(lines[0], /token=abc|asha@/);
  await new LogMailer(logger, { withText: true }).send(mail);
  t.match(lines[1], /token=abc/);
});
