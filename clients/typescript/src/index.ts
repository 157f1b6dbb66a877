import type { paths as PathsOfA } from './gen/a.js';
import type { components as ComponentsOfB, paths as PathsOfB } from './gen/b.js';
import { Client, type Options } from './client.js';

export { Client, type Clock, type Options } from './client.js';
export { ReservationError } from './error.js';
export { SignatureError, verify, verifyToken, type Message } from './webhook.js';

/** The types of Interface B by name, for example `B['Customer']`. */
export type B = ComponentsOfB['schemas'];

/** Returns a client of Interface B. baseUrl ends in /api/v1. A publishable key (pub_…) has no secret. */
export function interfaceB(baseUrl: string, key: { apiKey: string; apiSecret?: string }, options?: Options): Client<PathsOfB> {
  const { apiKey, apiSecret } = key;
  return new Client(baseUrl, 'perPage', options, async (exchange) => {
    if (apiSecret === undefined) return { token: apiKey, expiresIn: 86400 };
    return exchange<{ token: string; expiresIn: number }>('/auth/token', { apiKey, apiSecret });
  });
}

/** Returns a client of Interface A. */
export function interfaceA(baseUrl: string, credentials: { clientId: string; clientSecret: string }, options?: Options): Client<PathsOfA> {
  const body = { client_id: credentials.clientId, client_secret: credentials.clientSecret };
  return new Client(baseUrl, 'pageSize', options, async (exchange) => {
    const answer = await exchange<{ access_token: string; expires_in: number }>('/token', body);
    return { token: answer.access_token, expiresIn: answer.expires_in };
  });
}
