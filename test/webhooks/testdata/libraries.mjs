// Prints what npm's jose and standardwebhooks make of the vectors on standard input.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { jwtVerify } from 'jose';
import { Webhook } from 'standardwebhooks';

async function token(v, body) {
  for (const header of ['X-Service-Signature', 'X-Service-Signature-Previous']) {
    for (const secret of v.secrets) {
      try {
        const { payload } = await jwtVerify(v.headers[header], Buffer.from(secret.slice('whsec_'.length), 'base64'), {
          algorithms: ['HS256'], issuer: 'reservation', currentDate: new Date(v.time * 1000), clockTolerance: 60, maxTokenAge: 300,
        });
        if (payload.body_sha256 === createHash('sha256').update(body).digest('hex')) return true;
      } catch (e) {
        if (e instanceof ReferenceError) throw e; // a mistake of this program
      }
    }
  }
  return false;
}

function standard(v) {
  Date.now = () => v.time * 1000; // the library has no other clock
  return v.secrets.some((secret) => {
    try {
      new Webhook(secret).verify(v.body, v.headers);
      return true;
    } catch {
      return false;
    }
  });
}

const verdicts = {};
for (const v of JSON.parse(readFileSync(0)).vectors) verdicts[v.name] = [await token(v, Buffer.from(v.body)), standard(v)];
console.log(JSON.stringify(verdicts));
