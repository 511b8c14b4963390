import type { OAuthDescriptor } from '../app-descriptor.ts';

/**
 * Google's authorization server, the same for all its apps. Without `prompt` it gives a refresh token only the first time
 * that a person agrees. @see https://developers.google.com/identity/protocols/oauth2/web-server
 */
export const googleOAuth = {
  issuer: 'https://accounts.google.com',
  authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
  tokenUrl: 'https://oauth2.googleapis.com/token',
  revokeUrl: 'https://oauth2.googleapis.com/revoke',
  authorizeParameters: { access_type: 'offline', prompt: 'consent' },
} as const satisfies Omit<OAuthDescriptor, 'scopes'>;
