import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interfaceA, interfaceB, ReservationError, type Options } from '../src/index.js';

interface Seen {
  url: URL;
  key: string | null;
  authorization: string | null;
  body: unknown;
}

/** A fake platform, which answers each request with the next of its answers. Its clock moves when a client waits. */
class Platform {
  now = 1_774_776_600_000;
  tokens = 0;
  life = 3600;
  revoked = '';
  readonly waits: number[] = [];
  readonly seen: Seen[] = [];

  constructor(readonly answers: string[]) {}

  readonly options: Options = {
    clock: {
      now: () => this.now,
      pause: async (milliseconds, signal) => {
        this.waits.push(milliseconds);
        this.now += milliseconds;
        signal?.throwIfAborted();
      },
    },
    fetch: async (input, init) => {
      const url = new URL(String(input));
      await new Promise((resolve) => setImmediate(resolve)); // as over a network
      if (url.pathname.endsWith('/token')) {
        this.tokens++;
        return Response.json({ token: `t${this.tokens}`, access_token: `t${this.tokens}`, expiresIn: this.life, expires_in: this.life });
      }
      const headers = new Headers(init?.headers);
      this.seen.push({ url, key: headers.get('idempotency-key'), authorization: headers.get('authorization'), body: init?.body });
      return headers.get('authorization') === `Bearer ${this.revoked}` ? new Response(null, { status: 401 }) : this.answer();
    },
  };

  answer(): Response {
    const [head = '', ...rest] = (this.answers.shift() ?? '418').split(' ');
    if (head === 'lost') throw new TypeError('fetch failed');
    if (head === 'cut') return new Response('{', { status: 201 });
    const [status = '', after] = head.split('+');
    const body = rest.join(' ') || JSON.stringify({ error: { code: `CODE_${status}`, message: 'refused', details: { field: 'x' } } });
    return new Response(body, { status: Number(status), headers: { 'x-request-id': 'req-1', ...(after && { 'retry-after': after }) } });
  }
}

const created = '201 {"id":"cust_1"}';
const inProgress = '409+1 {"error":{"code":"IDEMPOTENCY_IN_PROGRESS","message":"running"}}';

function clientOf(...answers: string[]) {
  const p = new Platform(answers);
  const b = interfaceB('http://platform.test/api/v1/', { apiKey: 'key_1', apiSecret: 'secret' }, p.options);
  return { p, b, create: () => b.post('/customers', { body: { firstName: 'Zoë', lastName: 'Núñez', email: 'zoe@example.com' } }) };
}

const retries: Record<string, { answers: string[]; sent: number; status?: number }> = {
  'sends a success once': { answers: [created], sent: 1 },
  'retries 429, 503, 502 and a key in progress': { answers: ['429+3', '503+1', '502', inProgress, created], sent: 5 },
  'retries a response that is lost or breaks off': { answers: ['lost', 'cut', created], sent: 3 },
  'retries 500 once': { answers: ['500', created], sent: 2 },
  'gives up after a second 500': { answers: ['500', '500'], sent: 2, status: 500 },
  'does not retry 400': { answers: ['400'], sent: 1, status: 400 },
  'does not retry another conflict': { answers: ['409'], sent: 1, status: 409 },
  'gives up after six attempts': { answers: Array<string>(6).fill('503'), sent: 6, status: 503 },
  'does not wait longer than its patience': { answers: ['503+121'], sent: 1, status: 503 },
  'gives up when several waits exceed its patience': { answers: ['503+50', '503+50', '503+50'], sent: 3, status: 503 },
  'renews a refused token without counting an attempt': { answers: ['401', '429+1', created], sent: 3 },
  'gives up when the new token is refused': { answers: ['401', '401'], sent: 2, status: 401 },
};

for (const [name, { answers, sent, status }] of Object.entries(retries)) {
  test(name, async () => {
    const { p, create } = clientOf(...answers);
    const result = await create().catch((error: unknown) => error);
    if (status === undefined) assert.deepEqual(result, { id: 'cust_1' });
    else assert.equal((result as ReservationError).status, status);
    assert.equal(p.seen.length, sent);
    for (const { key, body } of p.seen) {
      assert.match(key ?? '', /^[0-9a-f]{32}$/);
      assert.equal(key, p.seen[0]?.key);
      assert.equal(body, '{"firstName":"Zoë","lastName":"Núñez","email":"zoe@example.com"}');
    }
  });
}

test('waits for Retry-After, then longer each time', async () => {
  const { p, create } = clientOf('503+7', '503', '503', '503', created);
  await create();
  const least = [7250, 500, 1000, 2000];
  assert.equal(p.waits.length, 4);
  p.waits.forEach((wait, i) => assert.ok(wait >= least[i]! && wait <= least[i]! + 250 * 2 ** i, `wait ${i} is ${wait}`));
});

test('ends when its signal is aborted', async () => {
  const { p, b } = clientOf('503', created);
  const controller = new AbortController();
  p.options.clock!.pause = async () => controller.abort(new Error('enough'));
  await assert.rejects(b.delete('/customers/{id}', { path: { id: 'cust_1' }, signal: controller.signal }), /enough/);
  assert.equal(p.seen.length, 1);
});

test('reports refusals', async () => {
  const { create } = clientOf('400+9', '400 <html>');
  await assert.rejects(create(), { status: 400, code: 'CODE_400', message: 'refused', details: { field: 'x' }, requestId: 'req-1', retryAfter: 9000 });
  await assert.rejects(create(), { status: 400, code: '', details: {} });
});

test('requests one token for many calls', async () => {
  const { p, create } = clientOf(...Array<string>(50).fill(created));
  await Promise.all(Array.from({ length: 50 }, create));
  assert.equal(p.tokens, 1);
});

test('requests one new token for many refusals', async () => {
  const { p, create } = clientOf(...Array<string>(51).fill(created));
  await create();
  p.revoked = 't1';
  await Promise.all(Array.from({ length: 50 }, create));
  assert.equal(p.tokens, 2);
});

test('renews a token five minutes before its end, or after half of a short life', async () => {
  for (const [life, until] of [[3600, 3300], [60, 30]] as const) {
    const { p, create } = clientOf(created, created, created);
    p.life = life;
    await create();
    p.now += (until - 1) * 1000;
    await create();
    assert.equal(p.tokens, 1);
    p.now += 1000;
    await create();
    assert.equal(p.tokens, 2);
    assert.equal(p.seen[2]?.authorization, 'Bearer t2');
  }
});

test('sends a publishable key itself', async () => {
  const p = new Platform(['200 {"events":[]}']);
  await interfaceB('http://platform.test/api/v1', { apiKey: 'pub_1' }, p.options).get('/events');
  assert.equal(p.seen[0]?.authorization, 'Bearer pub_1');
  assert.equal(p.tokens, 0);
});

test('follows the cursors of a list', async () => {
  const { p, b } = clientOf('200 {"customers":[{"id":"1"},{"id":"2"}],"nextCursor":"next","page":1}', '200 {"customers":[{"id":"3"}],"page":1}');
  const ids: string[] = [];
  for await (const customer of b.list('/customers', { query: { q: 'zoe', page: 1 } })) ids.push(customer.id);
  assert.deepEqual(ids, ['1', '2', '3']);
  assert.deepEqual(p.seen.map(({ url }) => url.search), ['?perPage=100&q=zoe&page=1', '?perPage=100&q=zoe&cursor=next']);
});

test('reads messages until there are no more, and shows the cursor to continue with', async () => {
  const { p, b } = clientOf('200 {"webhookMessages":[{"id":"1"}],"nextCursor":"one","hasMore":true}', '200 {"webhookMessages":[],"nextCursor":"two","hasMore":false}');
  const cursors: string[] = [];
  for await (const page of b.pages('/webhook-messages')) cursors.push(page.nextCursor);
  assert.deepEqual(cursors, ['one', 'two']);
  assert.equal(p.seen[1]?.url.search, '?perPage=100&cursor=one');
});

test('follows the page numbers of Interface A', async () => {
  const p = new Platform(['200 {"data":[{"id":"1"},{"id":"2"}],"page":0,"pageSize":2,"total":3}', '200 {"data":[{"id":"3"}],"page":1,"pageSize":2,"total":3}']);
  const a = interfaceA('http://platform.test', { clientId: 'm2m_1', clientSecret: 'secret' }, p.options);
  const ids: string[] = [];
  for await (const note of a.list('/customer/{id}/notes', { path: { id: 'cust/1' }, query: { pageSize: 2 } })) ids.push(note.id);
  assert.deepEqual(ids, ['1', '2', '3']);
  assert.deepEqual(p.seen.map(({ url }) => url.pathname + url.search), ['/customer/cust%2F1/notes?pageSize=2', '/customer/cust%2F1/notes?pageSize=2&page=1']);
});

// The compiler refuses calls that the description does not have.
export function refused(): unknown[] {
  const { b } = clientOf();
  return [
    // @ts-expect-error: there is no such path
    b.get('/nothing'),
    // @ts-expect-error: the path has no such method
    b.delete('/customers'),
    // @ts-expect-error: the identifier is missing
    b.get('/customers/{id}'),
    // @ts-expect-error: the body is missing
    b.post('/customers'),
    // @ts-expect-error: the body has a wrong type
    b.post('/customers', { body: { firstName: 1 } }),
    // @ts-expect-error: the filter has a wrong type
    b.list('/customers', { query: { archived: 'perhaps' } }),
  ];
}
