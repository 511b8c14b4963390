/** What the server tells the page in its head. */
function meta(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';
}

/** Lets style elements through the content security policy; another one in each page that is loaded. */
export const cspNonce = meta('csp-nonce');
/** `PUBLIC_URL`: where the REST API is. */
export const apiUrl = meta('api-url');
/** The WebSocket address of media: `wss://host`. */
export const mediaUrl = meta('media-url');
