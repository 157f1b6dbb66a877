import type { webhooks } from './gen/webhook.js';

const TOLERANCE = 300; // seconds: maximum difference between the clocks and the time of sending
const LEEWAY = 60; // seconds: how much clocks may differ for a JWT, which has its own end

/** A message. Its event decides the type of its data. */
export type Message = webhooks[keyof webhooks]['post']['requestBody']['content']['application/json'];

/** A webhook does not come from the platform, is too old, or was changed. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';

  constructor() {
    super('the webhook is not signed with a valid secret, or it is too old');
  }
}

type HeaderSet = Headers | Record<string, string | string[] | undefined>;

/**
 * Returns the message of a webhook if its Standard Webhooks headers are valid. body is the received bytes, or
 * their text. secrets are the valid ones: two during a rotation. now is in seconds.
 */
export async function verify(headers: HeaderSet, body: Uint8Array | string, secrets: string[], now = Date.now() / 1000): Promise<Message> {
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  if (id === '' || !/^\d+$/.test(timestamp) || Math.abs(now - Number(timestamp)) > TOLERANCE) throw new SignatureError();
  const signed = join(bytes(`${id}.${timestamp}.`), bytes(body));
  for (const entry of header(headers, 'webhook-signature').split(' ')) {
    if (entry.startsWith('v1,') && (await isSigned(signed, entry.slice(3), secrets))) return message(body);
  }
  throw new SignatureError();
}

/** Returns the message of a webhook if X-Service-Signature, or X-Service-Signature-Previous, is valid. */
export async function verifyToken(headers: HeaderSet, body: Uint8Array | string, secrets: string[], now = Date.now() / 1000): Promise<Message> {
  for (const name of ['x-service-signature', 'x-service-signature-previous']) {
    if (await isValidToken(header(headers, name), bytes(body), secrets, now)) return message(body);
  }
  throw new SignatureError();
}

interface Claims {
  exp: number;
  iat: number;
  body_sha256: string;
}

async function isValidToken(token: string, body: Uint8Array<ArrayBuffer>, secrets: string[], now: number): Promise<boolean> {
  const [head, payload, signature, ...more] = token.split('.');
  if (!head || !payload || !signature || more.length > 0) return false;
  if (decode<{ alg: string }>(head)?.alg !== 'HS256') return false; // rejects "none" as well
  if (!(await isSigned(bytes(`${head}.${payload}`), signature, secrets))) return false;
  const claims = decode<Claims>(payload);
  if (!claims || !(now <= claims.exp + LEEWAY && now >= claims.iat - LEEWAY)) return false;
  const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', body));
  return claims.body_sha256 === Array.from(sum, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Reports whether a signature of text was made with one of the secrets, in constant time. */
async function isSigned(text: Uint8Array<ArrayBuffer>, signature: string, secrets: string[]): Promise<boolean> {
  const got = fromBase64(signature);
  for (const secret of secrets) {
    const raw = fromBase64(secret.replace(/^whsec_/, ''));
    if (!got || !raw || raw.length === 0) continue;
    const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    if (await crypto.subtle.verify('HMAC', key, got, text)) return true;
  }
  return false;
}

function header(headers: HeaderSet, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

/** Decodes base64 or base64url. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function decode<T>(part: string): T | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(fromBase64(part))) as T;
  } catch {
    return undefined;
  }
}

function bytes(value: Uint8Array | string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(typeof value === 'string' ? new TextEncoder().encode(value) : value);
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

function message(body: Uint8Array | string): Message {
  return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as Message;
}
