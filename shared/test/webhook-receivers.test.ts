import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { newWebhookSecret, signWebhook, verifyWebhook } from '@parley/shared/http/webhook-signature';
import { LONG } from './fixtures/long.ts';

// The functions that docs/webhooks.md offers to receivers, as they stand there: each must decide as the product does.

t.setTimeout(120_000);

const run = promisify(execFile);
const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');

const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';
const at = 1_767_225_600;
const body = '{"phoneNumber":"+14155550100","variables":{"name":"Asha"}}';
const v1 = '76d0c6e17cfdbe45af9d163b3c10196095c4058787bc95dd80c5ada5cb2c0203';
const other = newWebhookSecret();
const accented = '{"name":"Ásha नमस्ते"}';

interface Case {
  title: string;
  header: string;
  body: string;
  now: number;
}

const signed = `t=${at},v1=${v1}`;
const CASES: Case[] = [
  { title: 'the vector', header: signed, body, now: at },
  { title: 'spaces between the parts', header: `t=${at}, v1=${v1}`, body, now: at },
  { title: 'at the end of its time', header: signed, body, now: at + 300 },
  { title: 'text beyond ASCII', header: signWebhook(secret, accented, at * 1000), body: accented, now: at },
  {
    title: 'two secrets overlap, the new one first',
    header: signWebhook([other, secret], body, at * 1000),
    body,
    now: at,
  },
  { title: 'late', header: signed, body, now: at + 301 },
  { title: 'from the future', header: signed, body, now: at - 301 },
  { title: 'another body', header: signed, body: `${body} `, now: at },
  { title: 'another time than signed', header: `t=${at + 1},v1=${v1}`, body, now: at },
  { title: 'another secret', header: signWebhook(other, body, at * 1000), body, now: at },
  { title: 'no header', header: '', body, now: at },
  { title: 'no time', header: `v1=${v1}`, body, now: at },
  { title: 'a time that is no number', header: `t=now,v1=${v1}`, body, now: at },
  { title: 'no signature', header: `t=${at}`, body, now: at },
  { title: 'a short signature', header: `t=${at},v1=${v1.slice(2)}`, body, now: at },
  { title: 'an empty signature', header: `t=${at},v1=`, body, now: at },
  { title: 'a part without a value', header: `t=${at},v1`, body, now: at },
  { title: 'letters that are no hex', header: `t=${at},v1=${'é'.repeat(64)}`, body, now: at },
];

/** What starts each function: it prints one digit a case. Three arguments a case: header and body in base64, the time. */
const DRIVERS = [
  {
    title: 'JavaScript',
    fence: 'js',
    file: 'receiver.mjs',
    program: process.execPath,
    always: true,
    main: `
const [, , secret, ...cases] = process.argv;
for (let i = 0; i < cases.length; i += 3) {
  const [header, body] = cases.slice(i, i + 2).map((text) => Buffer.from(text, 'base64'));
  process.stdout.write(verifyWebhook(secret, header.toString(), body, Number(cases[i + 2])) ? '1' : '0');
}`,
  },
  {
    title: 'Python',
    fence: 'python',
    file: 'receiver.py',
    program: 'python3',
    always: true,
    main: `
import base64, sys
cases = sys.argv[2:]
for i in range(0, len(cases), 3):
    header, body = base64.b64decode(cases[i]).decode(), base64.b64decode(cases[i + 1])
    print(int(verify_webhook(sys.argv[1], header, body, int(cases[i + 2]))), end="")
`,
  },
  {
    title: 'Go',
    fence: 'go',
    file: 'receiver.go',
    program: 'go',
    before: ['run'],
    mainFile: 'main.go',
    main: `package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	for i := 2; i < len(os.Args); i += 3 {
		header, _ := base64.StdEncoding.DecodeString(os.Args[i])
		body, _ := base64.StdEncoding.DecodeString(os.Args[i+1])
		now, _ := strconv.ParseInt(os.Args[i+2], 10, 64)
		if VerifyWebhook(os.Args[1], string(header), body, time.Unix(now, 0)) {
			fmt.Print("1")
		} else {
			fmt.Print("0")
		}
	}
}
`,
  },
  {
    title: 'Java',
    fence: 'java',
    file: 'Receiver.java',
    program: 'java',
    // The first class of a source file is the one that is started.
    main: (source: string) =>
      source.replace(
        '/** Java 17',
        `final class Receiver {
  public static void main(String[] args) throws Exception {
    var decoder = java.util.Base64.getDecoder();
    for (int i = 1; i < args.length; i += 3) {
      String header = new String(decoder.decode(args[i]), StandardCharsets.UTF_8);
      boolean ok = Webhooks.verify(args[0], header, decoder.decode(args[i + 1]), Long.parseLong(args[i + 2]));
      System.out.print(ok ? "1" : "0");
    }
  }
}

/** Java 17`,
      ),
  },
  {
    title: 'Ruby',
    fence: 'ruby',
    file: 'receiver.rb',
    program: 'ruby',
    main: `
secret, *cases = ARGV
cases.each_slice(3) do |header, body, now|
  header = header.unpack1('m').force_encoding('UTF-8')
  print verify_webhook(secret, header, body.unpack1('m'), now.to_i) ? '1' : '0'
end
`,
  },
];

const expected = CASES.map(({ header, body, now }) =>
  verifyWebhook(secret, header, body, now * 1000).ok ? '1' : '0',
);

void t.test('the cases are decided as their titles say', async (t) => {
  t.equal(expected.join(''), '1'.repeat(5) + '0'.repeat(CASES.length - 5));
});

for (const { title, fence, file, program, before = [], mainFile, main, always } of DRIVERS) {
  const skip = !always && !LONG ? 'run with TEST_LONG=1' : !installed(program) && `needs ${program}`;
  void t.test(`a receiver in ${title} decides as the product does`, { skip }, async (t) => {
    const source = new RegExp(`^\`\`\`${fence}\\n([^]*?)^\`\`\``, 'm').exec(page)?.[1];
    if (source === undefined) throw new Error(`docs/webhooks.md has no ${fence} block`);
    const folder = t.testdir();
    const files = mainFile ? [file, mainFile] : [file];
    const whole = typeof main === 'string' ? (mainFile ? source : source + main) : main(source);
    writeFileSync(path.join(folder, file), whole);
    if (mainFile && typeof main === 'string') writeFileSync(path.join(folder, mainFile), main);
    const args = CASES.flatMap(({ header, body, now }) => [base64(header), base64(body), String(now)]);
    const { stdout } = await run(program, [...before, ...files, secret, ...args], { cwd: folder });
    for (const [index, { title }] of CASES.entries()) t.equal(stdout[index], expected[index], title);
  });
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function installed(program: string): boolean {
  try {
    execFileSync('/bin/sh', ['-c', 'command -v "$0"', program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
