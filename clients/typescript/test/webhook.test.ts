import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SignatureError, verify, verifyToken } from '../src/index.js';

interface Vector {
  name: string;
  time: number;
  secrets: string[];
  headers: Record<string, string>;
  body: string;
  jwt: boolean;
  standardWebhooks: boolean;
}

// Tests run in the directory of the package.
const { vectors } = JSON.parse(readFileSync('../../docs/webhooks/vectors.json', 'utf8')) as { vectors: Vector[] };

test('there are vectors', () => assert.notEqual(vectors.length, 0));

for (const { name, time, secrets, headers, body, jwt, standardWebhooks } of vectors) {
  test(`webhook: ${name}`, async () => {
    for (const [check, valid] of [[verify, standardWebhooks], [verifyToken, jwt]] as const) {
      const text = Buffer.from(body);
      if (valid) assert.ok((await check(new Headers(headers), text, secrets, time)).id);
      else await assert.rejects(check(new Headers(headers), text, secrets, time), SignatureError);
      await assert.rejects(check(new Headers(headers), text, ['', 'whsec_', 'whsec_!'], time), SignatureError);
    }
  });
}

test('a receiver without a secret does not accept what anybody can sign', async () => {
  const signature = createHmac('sha256', '').update('msg_1.1774776600.{}').digest('base64');
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1774776600', 'webhook-signature': `v1,${signature}` };
  await assert.rejects(verify(headers, '{}', ['', 'whsec_'], 1_774_776_600), SignatureError);
});
