import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { calCom } from './apps/cal-com.ts';
import { googleCalendar } from './apps/google-calendar.ts';
import { googleSheets } from './apps/google-sheets.ts';
import { hubSpot } from './apps/hubspot.ts';
import { slack } from './apps/slack.ts';
import type { AppAction, AppDescriptor, AppParameters } from './app-descriptor.ts';

/** The apps: each a file of actions, and a line here. */
const CATALOG = {
  cal_com: calCom,
  google_calendar: googleCalendar,
  google_sheets: googleSheets,
  hubspot: hubSpot,
  slack,
} as const satisfies Record<string, AppDescriptor>;

export type AppName = keyof typeof CATALOG;
/** What its variables begin with, behind `APP_`. */
export type AppVariable = (typeof CATALOG)[AppName]['variable'];
export type OAuthVariable = Extract<(typeof CATALOG)[AppName], { auth: { type: 'oauth2' } }>['variable'];
export const APP_NAMES = Object.keys(CATALOG) as [AppName, ...AppName[]];

export const APPS: readonly (AppDescriptor & { app: AppName })[] = APP_NAMES.map((app) => ({
  app,
  ...CATALOG[app],
}));

/** All actions of all apps. */
export const ACTIONS: readonly (AppAction & { app: AppName })[] = APPS.flatMap(({ app, actions }) =>
  actions.map((action) => ({ app, ...action })),
);

export function appDescriptor(app: AppName): AppDescriptor {
  return CATALOG[app];
}

/** @returns undefined for an app or action that the catalogue does not have, or has no more */
export function findAction(app: string, action: string): AppAction | undefined {
  return ACTIONS.find((one) => one.app === app && one.action === action);
}

/** What is left to be told of an action's arguments when some are fixed. */
export function openParameters(
  { parameters }: AppAction,
  fixed: Readonly<Record<string, unknown>>,
): AppParameters {
  const isOpen = (name: string) => !Object.hasOwn(fixed, name);
  return {
    ...parameters,
    properties: Object.fromEntries(Object.entries(parameters.properties).filter(([name]) => isOpen(name))),
    required: parameters.required.filter(isOpen),
  };
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
const validators = new Map<AppAction, { all: ValidateFunction; some: ValidateFunction }>();

/**
 * What is wrong with the arguments of an action.
 * @param partly whether required ones may be missing
 * @returns for each fault the argument (null: of all of them) and what is wrong with it
 */
export function argumentFaults(
  action: AppAction,
  args: Readonly<Record<string, unknown>>,
  { partly = false }: { partly?: boolean } = {},
): { name: string | null; problem: string }[] {
  let made = validators.get(action);
  if (!made) {
    const { parameters } = action;
    made = { all: ajv.compile(parameters), some: ajv.compile({ ...parameters, required: [] }) };
    validators.set(action, made);
  }
  const validate = partly ? made.some : made.all;
  if (validate(args)) return [];
  return (validate.errors ?? []).map(({ instancePath, message = 'is invalid', keyword, params }) => {
    const named = params as { missingProperty?: string; additionalProperty?: string };
    if (keyword === 'required') return { name: named.missingProperty ?? null, problem: 'is missing' };
    if (keyword === 'additionalProperties')
      return { name: named.additionalProperty ?? null, problem: 'is not an argument of this action' };
    return { name: instancePath.split('/')[1] ?? null, problem: message };
  });
}
