import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

const TOLERANCE = 300; // seconds: maximum age of a Standard Webhooks timestamp
const LEEWAY = 60; // seconds: how much clocks may differ for a JWT

const sign = (secret, ...parts) => {
  const mac = createHmac('sha256', Buffer.from(secret.replace(/^whsec_/, ''), 'base64'));
  parts.forEach((part) => mac.update(part));
  return mac.digest();
};

// timingSafeEqual throws if the lengths differ.
const equal = (a, b) => a.length === b.length && timingSafeEqual(a, b);

const decode = (part) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));

// verifyToken reports whether X-Service-Signature is valid. headers have lower-case names, as in
// Node's requests; body is a Buffer of the received bytes; secrets are the valid ones (two during a
// rotation); now is in Unix seconds.
export function verifyToken(headers, body, secrets, now = Date.now() / 1000) {
  const tokens = [headers['x-service-signature'], headers['x-service-signature-previous']];
  return tokens.some((token) => token && secrets.some((secret) => verifyOneToken(token, body, secret, now)));
}

function verifyOneToken(token, body, secret, now) {
  const parts = token.split('.');
  if (parts.length !== 3) return false;
  try {
    if (decode(parts[0]).alg !== 'HS256') return false; // rejects "none" as well
    const want = sign(secret, `${parts[0]}.${parts[1]}`);
    if (!equal(Buffer.from(parts[2], 'base64url'), want)) return false;
    const claims = decode(parts[1]);
    return (
      now <= claims.exp + LEEWAY &&
      now >= claims.iat - LEEWAY &&
      claims.body_sha256 === createHash('sha256').update(body).digest('hex')
    );
  } catch {
    return false; // not JSON
  }
}

// verifyStandard reports whether the headers of the Standard Webhooks specification are valid.
export function verifyStandard(headers, body, secrets, now = Date.now() / 1000) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  if (!id || !/^\d+$/.test(timestamp ?? '') || Math.abs(now - Number(timestamp)) > TOLERANCE) return false;
  return (headers['webhook-signature'] ?? '').split(' ').some((signature) => {
    const [version, text] = signature.split(',');
    if (version !== 'v1' || !text) return false;
    const got = Buffer.from(text, 'base64');
    return secrets.some((secret) => equal(got, sign(secret, `${id}.${timestamp}.`, body)));
  });
}
