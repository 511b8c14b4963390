import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { AuditLog } from '../audit/audit-trail.ts';
import { toAmount } from '../http/amount.ts';
import type { Directory } from '../tenancy/directory.ts';
import { isExactAmount, toNano } from './money.ts';
import { rateTableSchema, type RateTable } from './rate-table.ts';
import type { Rates } from './rates.ts';
import type { Wallets } from './wallets.ts';

/** Actions in the audit trail. */
export const BILLING_AUDIT = ['rates.changed', 'wallet.changed', 'wallet.topped_up'] as const;

/** What an operator is told who asked for something impossible. */
export class BillingCommandError extends Error {}

interface CommandDeps {
  rates: Rates;
  wallets: Wallets;
  directory: Pick<Directory, 'org'>;
  audit: AuditLog<(typeof BILLING_AUDIT)[number]>;
}

/** Words behind the command, and its options. */
interface CommandInput {
  words: readonly string[];
  orgId: string | undefined;
  reference?: string | undefined;
}

/** A balance holds less than this: what is stored has 64 bits. */
const MAX_TOP_UP = 1_000_000_000n * 1_000_000_000n;

/** `rates show | set <file> | remove`: of the installation, or of one org. @returns what is printed */
export async function runRatesCommand(deps: CommandDeps, input: CommandInput): Promise<string> {
  const { rates } = deps;
  const { orgId } = input;
  const [verb, file] = input.words;
  if (orgId !== undefined) await checkOrg(deps, orgId);
  switch (verb) {
    case 'show': {
      const table = orgId === undefined ? await rates.ofInstallation() : await rates.ofOrg(orgId);
      return table ? `${JSON.stringify(table, null, 2)}\n` : 'There are no rates.\n';
    }
    case 'set': {
      if (file === undefined) throw new BillingCommandError('rates set needs a file.');
      const table = await readTable(file);
      await checkCurrency(deps, table.currency, orgId);
      await rates.set(table, orgId);
      break;
    }
    case 'remove':
      await rates.set(null, orgId);
      break;
    default:
      throw new BillingCommandError('rates needs show, set <file> or remove.');
  }
  await record(deps, 'rates.changed', orgId);
  return 'done\n';
}

/** `wallet show | mode | top-up | low-balance` of one org. @returns what is printed */
export async function runWalletCommand(deps: CommandDeps, input: CommandInput): Promise<string> {
  const { rates, wallets } = deps;
  const { orgId, reference } = input;
  const [verb, value] = input.words;
  if (orgId === undefined) throw new BillingCommandError('--org-id is missing.');
  await checkOrg(deps, orgId);
  const currency = await rates.currency(orgId);
  switch (verb) {
    case 'show':
      return showWallet(wallets, orgId, currency);
    case 'mode':
      if (value !== 'unlimited' && value !== 'prepaid')
        throw new BillingCommandError('wallet mode needs unlimited or prepaid.');
      await wallets.configure(orgId, { mode: value }, currency);
      break;
    case 'low-balance':
      await wallets.configure(
        orgId,
        { low_balance_nano: value === 'none' ? null : readAmount(value) },
        currency,
      );
      break;
    case 'top-up': {
      if (reference === undefined || reference.trim() === '' || reference.length > 200)
        throw new BillingCommandError('--reference is missing: such as the number of the payment.');
      const isNew = await wallets.topUp(orgId, { reference, amount: readAmount(value), currency });
      if (!isNew) return 'This reference was used before: nothing is changed.\n';
      await record(deps, 'wallet.topped_up', orgId);
      return 'done\n';
    }
    default:
      throw new BillingCommandError(
        'wallet needs show, mode <mode>, top-up <amount> or low-balance <amount>.',
      );
  }
  await record(deps, 'wallet.changed', orgId);
  return 'done\n';
}

async function showWallet(wallets: Wallets, orgId: string, currency: string): Promise<string> {
  const wallet = await wallets.find(orgId);
  const balance = wallet?.balance_nano ?? 0n;
  const reserved = wallet?.reserved_nano ?? 0n;
  const low = wallet?.low_balance_nano ?? null;
  return [
    `mode         ${wallet?.mode ?? 'unlimited'}`,
    `currency     ${wallet?.currency ?? currency}`,
    `balance      ${toAmount(balance)}`,
    `reserved     ${toAmount(reserved)}`,
    `available    ${toAmount(balance - reserved)}`,
    `low balance  ${low === null ? 'none' : toAmount(low)}`,
    '',
  ].join('\n');
}

async function readTable(file: string): Promise<RateTable> {
  let content: unknown;
  try {
    content = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    const why = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    throw new BillingCommandError(`${file} ${why}.`, { cause: error });
  }
  const { data, error } = rateTableSchema.safeParse(content);
  if (error) throw new BillingCommandError(`${file} is no table of rates:\n${z.prettifyError(error)}`);
  return data;
}

/** Amounts of several currencies would be added up, or taken off a balance of another. */
async function checkCurrency(
  { rates, wallets }: CommandDeps,
  currency: string,
  orgId: string | undefined,
): Promise<void> {
  const other =
    (await wallets.otherCurrency(currency, orgId))?.currency ?? (await rates.otherCurrency(currency, orgId));
  if (other !== undefined)
    throw new BillingCommandError(
      `The rates are in ${currency}, but wallets or other rates are in ${other}: all must be in one currency.`,
    );
}

function readAmount(text: string | undefined): bigint {
  const amount = text !== undefined && isExactAmount(text) ? toNano(text) : -1n;
  if (amount < 0n || amount >= MAX_TOP_UP)
    throw new BillingCommandError('The amount is missing or wrong: a decimal number such as 25 or 12.50.');
  return amount;
}

async function checkOrg({ directory }: CommandDeps, orgId: string): Promise<void> {
  if (!(await directory.org(orgId))) throw new BillingCommandError(`There is no org ${orgId}.`);
}

async function record(
  { audit }: CommandDeps,
  action: (typeof BILLING_AUDIT)[number],
  orgId: string | undefined,
): Promise<void> {
  const target = orgId ?? 'installation';
  await audit.record({
    caller: 'cli',
    address: '',
    ...{ action, target },
    ...(orgId !== undefined && { orgId }),
  });
}
