import { styleText } from 'node:util';
import { TALK_PATH } from './web/talk-page.ts';
import type { DemonstrationPlatform } from './demonstration/demonstration-platform.ts';

/**
 * What a newcomer sees first: what runs where, what is emulated, the key, where the API is described, how to stop.
 * @param setupCode lets the first user register; undefined once there is one
 */
export function printFirstScreen(
  { platform, demonstration }: DemonstrationPlatform,
  setupCode: string | undefined,
  write: (line: string) => void,
): void {
  const bold = (text: string) => styleText('bold', text);
  const width = Math.max(...platform.parts.map((part) => part.name.length)) + 2;
  write('');
  write(bold('Parley') + styleText('gray', '  a voice agent platform, whole, in this process'));
  write('');
  const startLink = platform.controlPlane.startLink();
  if (startLink !== null) {
    write(`  ${'Open this first'.padEnd(width)}${bold(startLink)}`);
    write(
      `  ${''.padEnd(width)}${styleText('gray', 'the console; the link signs you in, once, within ten minutes')}`,
    );
    write('');
  }
  for (const part of platform.parts) {
    write(
      `  ${part.name.padEnd(width)}${part.emulated ? styleText('yellow', 'EMULATED  ') : ''}${part.what}`,
    );
  }
  write(
    `  ${'Telephone lines'.padEnd(width)}${styleText('yellow', 'EMULATED  ')}${Object.entries(
      demonstration.lines,
    )
      .map(([carrier, line]) => `${carrier} ${line.number}`)
      .join(', ')}`,
  );
  write('');
  write(
    `  ${'API reference'.padEnd(width)}${bold(`${platform.localUrl}/docs`)}   (OpenAPI: ${platform.localUrl}/openapi.json)`,
  );
  write(`  ${'Talk to it'.padEnd(width)}${bold(`${platform.localUrl}${TALK_PATH}`)}`);
  if (platform.publicUrl !== platform.localUrl)
    write(
      `  ${'Public address'.padEnd(width)}${platform.publicUrl}   (PUBLIC_URL: what carriers call and sign)`,
    );
  write(`  ${'Data and log'.padEnd(width)}${platform.folder.root}`);
  if (demonstration.keyIsNew) {
    write(`  ${'API key'.padEnd(width)}${bold(demonstration.apiKey)}`);
    write(
      `  ${''.padEnd(width)}${styleText('gray', 'shown this once. For the commands below:')} export PARLEY_API_KEY=${demonstration.apiKey}`,
    );
  } else {
    write(
      `  ${'API key'.padEnd(width)}${styleText('gray', 'as printed on the first start (also in secrets.json of the data folder)')}`,
    );
  }
  if (setupCode !== undefined) {
    write(`  ${'First user'.padEnd(width)}POST /auth/v1/register with setup_code ${bold(setupCode)}`);
  }
  if (platform.exposed) {
    write('');
    write(
      styleText(
        'red',
        '  HOST lets other machines reach this process while providers are emulated: their calls are answered by emulators.',
      ),
    );
  }
  write(`  ${'Stop'.padEnd(width)}Ctrl-C`);
}
