import { ReservationError } from './error.js';
import type { Data, Input, Item, ListInput, Method, Operation, Optional, PathsWith } from './types.js';

const RENEW_BEFORE = 5 * 60_000; // how long before its end a token is renewed
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;

/** Changes the defaults of a client. Times are in milliseconds. */
export interface Options {
  /** Sends the requests. Default: the global fetch. */
  fetch?: typeof fetch;
  /** How often a request is sent at most. Default: 6. */
  attempts?: number;
  /** How long a call waits for its last attempt to begin. Default: 2 minutes. */
  patience?: number;
  /** How long one attempt can take, its whole response included. Default: 1 minute. */
  timeout?: number;
  /** Replaces the clock in tests. */
  clock?: Clock;
}

export interface Clock {
  now(): number;
  /** Waits, and rejects when the signal is aborted. */
  pause(milliseconds: number, signal?: AbortSignal): Promise<unknown>;
}

const systemClock: Clock = {
  now: Date.now,
  pause: (milliseconds, signal) => unlessAborted(new Promise((resolve) => setTimeout(resolve, milliseconds)), signal),
};

type Exchange = <T>(path: string, credentials: object) => Promise<T>;
type Source = (exchange: Exchange) => Promise<{ token: string; expiresIn: number }>;

/** A token, or the request for one. It is usable until a time, which is Infinity during the request. */
interface Grant {
  token: Promise<string>;
  until: number;
}

interface Sent {
  url: string;
  init: RequestInit & { headers: Headers };
  signal: AbortSignal | undefined;
}

/** What any call sends, without its types. */
interface Untyped {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  headers?: Record<string, string | undefined>;
  body?: unknown;
  signal?: AbortSignal;
}

/**
 * A client of one interface. It keeps a token and renews it, one request at a time. It gives every write an
 * Idempotency-Key, and retries what docs/ERRORS.md calls safe with the same key.
 */
export class Client<Paths> {
  readonly #baseUrl: string;
  readonly #size: 'perPage' | 'pageSize';
  readonly #source: Source;
  readonly #options: Required<Options>;
  #grant: Grant | undefined;

  /** Use interfaceA or interfaceB. */
  constructor(baseUrl: string, size: 'perPage' | 'pageSize', options: Options | undefined, source: Source) {
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
    this.#size = size;
    this.#source = source;
    const defaults = { fetch: globalThis.fetch.bind(globalThis), attempts: 6, patience: 120_000, timeout: 60_000, clock: systemClock };
    this.#options = { ...defaults, ...options };
  }

  async get<P extends PathsWith<Paths, 'get'>>(path: P, ...input: Optional<Input<Operation<Paths, P, 'get'>>>): Promise<Data<Operation<Paths, P, 'get'>>> {
    return (await this.call('get', path, ...input)).data;
  }

  async post<P extends PathsWith<Paths, 'post'>>(path: P, ...input: Optional<Input<Operation<Paths, P, 'post'>>>): Promise<Data<Operation<Paths, P, 'post'>>> {
    return (await this.call('post', path, ...input)).data;
  }

  async put<P extends PathsWith<Paths, 'put'>>(path: P, ...input: Optional<Input<Operation<Paths, P, 'put'>>>): Promise<Data<Operation<Paths, P, 'put'>>> {
    return (await this.call('put', path, ...input)).data;
  }

  async patch<P extends PathsWith<Paths, 'patch'>>(path: P, ...input: Optional<Input<Operation<Paths, P, 'patch'>>>): Promise<Data<Operation<Paths, P, 'patch'>>> {
    return (await this.call('patch', path, ...input)).data;
  }

  async delete<P extends PathsWith<Paths, 'delete'>>(path: P, ...input: Optional<Input<Operation<Paths, P, 'delete'>>>): Promise<Data<Operation<Paths, P, 'delete'>>> {
    return (await this.call('delete', path, ...input)).data;
  }

  /** Calls an operation, and returns its response too: for the ETag, or a 304, which has no data. */
  async call<M extends Method, P extends PathsWith<Paths, M>>(
    method: M,
    path: P,
    ...[input]: Optional<Input<Operation<Paths, P, M>>>
  ): Promise<{ data: Data<Operation<Paths, P, M>>; response: Response }> {
    const { data, response } = await this.#retried(this.#request(method, path, (input ?? {}) as Untyped));
    return { data: data as Data<Operation<Paths, P, M>>, response };
  }

  /** Reads a whole list, page by page. */
  async *list<P extends PathsWith<Paths, 'get'>>(
    path: P,
    ...input: Optional<ListInput<Operation<Paths, P, 'get'>>>
  ): AsyncGenerator<Item<Data<Operation<Paths, P, 'get'>>>, void, undefined> {
    for await (const page of this.pages(path, ...input)) {
      yield* Object.values(page as object).find(Array.isArray) ?? [];
    }
  }

  /** Reads the pages of a list: for the nextCursor of messages, or for the total. */
  async *pages<P extends PathsWith<Paths, 'get'>>(
    path: P,
    ...[input]: Optional<ListInput<Operation<Paths, P, 'get'>>>
  ): AsyncGenerator<Data<Operation<Paths, P, 'get'>>, void, undefined> {
    const { path: parts, query, signal } = (input ?? {}) as Untyped;
    for (let next: object | undefined = { [this.#size]: 100, ...query }; next; ) {
      const request = this.#request('get', path, { query: next as Record<string, unknown>, ...(parts && { path: parts }), ...(signal && { signal }) });
      const { data } = await this.#retried(request);
      yield data as Data<Operation<Paths, P, 'get'>>;
      next = following(next, data as Page);
    }
  }

  #request(method: Method, path: string, input: Untyped): Sent {
    const headers = new Headers();
    for (const [name, value] of Object.entries(input.headers ?? {})) if (value !== undefined) headers.set(name, value);
    if (method !== 'get' && !headers.has('idempotency-key')) headers.set('idempotency-key', newKey());
    const init: Sent['init'] = { method: method.toUpperCase(), headers };
    if (input.body !== undefined) {
      headers.set('content-type', 'application/json');
      init.body = JSON.stringify(input.body);
    }
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(input.query ?? {})) if (value !== undefined) query.append(name, String(value));
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input.path?.[name])));
    return { url: this.#baseUrl + filled + (query.size > 0 ? `?${query}` : ''), init, signal: input.signal };
  }

  /** Sends a request until it succeeds or cannot be retried. */
  async #retried(request: Sent): Promise<{ data: unknown; response: Response }> {
    const { attempts, patience, clock } = this.#options;
    const end = clock.now() + patience;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#authorized(request);
      } catch (error) {
        request.signal?.throwIfAborted();
        const wait = waitBefore(error, attempt);
        if (wait === undefined || attempt >= attempts || clock.now() + wait > end) throw error;
        await clock.pause(wait, request.signal);
      }
    }
  }

  /** Sends a request with a token, and once more with a new one if the token is refused. */
  async #authorized(request: Sent): Promise<{ data: unknown; response: Response }> {
    for (let renewed = false; ; renewed = true) {
      request.signal?.throwIfAborted();
      const grant = this.#current();
      const token = await unlessAborted(grant.token, request.signal);
      request.init.headers.set('authorization', `Bearer ${token}`);
      try {
        return await this.#once(request);
      } catch (error) {
        if (renewed || !(error instanceof ReservationError) || error.status !== 401) throw error;
        if (this.#grant === grant) this.#grant = undefined;
      }
    }
  }

  /** Makes one attempt, and reads the whole response. */
  async #once({ url, init, signal }: Sent): Promise<{ data: unknown; response: Response }> {
    const limit = AbortSignal.timeout(this.#options.timeout);
    const response = await this.#options.fetch(url, { ...init, signal: signal ? AbortSignal.any([signal, limit]) : limit });
    const text = await response.text();
    if (response.status >= 400) throw ReservationError.of(response, text, this.#options.clock.now());
    return { data: text === '' ? undefined : JSON.parse(text), response };
  }

  /** Returns the token. All calls that need a new one share a request for it. */
  #current(): Grant {
    const { clock } = this.#options;
    const begun = clock.now();
    if (this.#grant && begun < this.#grant.until) return this.#grant;
    const grant: Grant = { until: Infinity, token: this.#source((path, credentials) => this.#exchange(path, credentials)).then(
      ({ token, expiresIn }) => {
        const life = expiresIn * 1000;
        grant.until = begun + life - Math.min(RENEW_BEFORE, life / 2);
        return token;
      },
      (error: unknown) => {
        grant.until = 0;
        throw error;
      },
    ) };
    return (this.#grant = grant);
  }

  async #exchange<T>(path: string, credentials: object): Promise<T> {
    const headers = new Headers({ 'content-type': 'application/json' });
    const init = { method: 'POST', headers, body: JSON.stringify(credentials) };
    return (await this.#once({ url: this.#baseUrl + path, init, signal: undefined })).data as T;
  }
}

/** How long to wait before sending a request again that failed, or undefined if it must not be sent again. */
function waitBefore(error: unknown, attempt: number): number | undefined {
  const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
  if (!(error instanceof ReservationError)) return pause; // no response, or only a part
  const { status, code, retryAfter } = error;
  const again = [429, 502, 503, 504].includes(status) || (status === 500 && attempt === 1) || (status === 409 && code === 'IDEMPOTENCY_IN_PROGRESS');
  return again ? retryAfter + pause : undefined;
}

interface Page {
  nextCursor?: string;
  hasMore?: boolean;
  page?: number;
  pageSize?: number;
  total?: number;
}

/** Returns the query of the page after a page, or undefined after the last one. */
function following(query: object, { nextCursor, hasMore, page, pageSize, total }: Page): object | undefined {
  if (nextCursor !== undefined && hasMore !== false) return { ...query, page: undefined, cursor: nextCursor };
  if (page === undefined || pageSize === undefined || total === undefined) return undefined;
  return (page + 1) * pageSize < total ? { ...query, page: page + 1 } : undefined;
}

/** Returns a new Idempotency-Key. (randomUUID does not exist on pages without HTTPS.) */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns the result of a promise, or rejects when the signal is aborted. */
async function unlessAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return promise;
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort);
  });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', abort));
}
