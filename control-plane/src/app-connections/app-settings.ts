import type { Secret } from '@parley/shared/config/secret';
import { APPS, appDescriptor } from './app-catalog.ts';
import type { AppName, AppVariable, OAuthVariable } from './app-catalog.ts';
import type { AppDescriptor, OAuthDescriptor } from './app-descriptor.ts';

/** What an installation has of the apps of one vendor. */
interface VendorSettings {
  clientId: string | undefined;
  clientSecret: Secret | undefined;
  baseUrl: string | undefined;
}

/** An app as this installation reaches it. */
export interface InstalledApp {
  readonly app: AppName;
  readonly name: string;
  readonly descriptor: AppDescriptor;
  readonly apiUrl: string;
  /** What the outgoing rule lets through besides public addresses: the operator has named it. */
  readonly allow: readonly string[];
  /** Null for apps without OAuth, and where the installation has no client. */
  readonly oauth: InstalledOAuth | null;
}

export interface InstalledOAuth extends OAuthDescriptor {
  readonly clientId: string;
  readonly clientSecret: Secret;
}

/** `GOOGLE` and its like, each once. */
export const APP_VARIABLES = variables(() => true) as AppVariable[];
export const OAUTH_VARIABLES = variables(({ auth }) => auth.type === 'oauth2') as OAuthVariable[];

function variables(isMeant: (app: AppDescriptor) => boolean): string[] {
  return [...new Set(APPS.filter(isMeant).map(({ variable }) => variable))];
}

/** The apps of the catalogue with the installation's OAuth clients and addresses. */
export class InstalledApps {
  readonly #settings: (variable: string) => VendorSettings;

  /** @param config the variables `APP_<VARIABLE>_…` */
  constructor(config: Readonly<Record<string, unknown>>) {
    this.#settings = (variable) => ({
      clientId: config[`APP_${variable}_CLIENT_ID`] as string | undefined,
      clientSecret: config[`APP_${variable}_CLIENT_SECRET`] as Secret | undefined,
      baseUrl: config[`APP_${variable}_BASE_URL`] as string | undefined,
    });
  }

  get(app: AppName): InstalledApp {
    const descriptor = appDescriptor(app);
    const { clientId, clientSecret, baseUrl } = this.#settings(descriptor.variable);
    const at = (url: string) => (baseUrl === undefined ? url : new URL(baseUrl).origin + pathOf(url));
    const { auth, apiUrl, name } = descriptor;
    return {
      app,
      name,
      descriptor,
      apiUrl: at(apiUrl),
      allow: baseUrl === undefined ? [] : [new URL(baseUrl).origin],
      oauth:
        auth.type === 'oauth2' && clientId !== undefined && clientSecret !== undefined
          ? {
              ...auth,
              clientId,
              clientSecret,
              authorizeUrl: at(auth.authorizeUrl),
              tokenUrl: at(auth.tokenUrl),
              revokeUrl: at(auth.revokeUrl),
            }
          : null,
    };
  }
}

function pathOf(url: string): string {
  const { pathname } = new URL(url);
  return pathname === '/' ? '' : pathname;
}
