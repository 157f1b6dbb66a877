// The types of a call, derived from the `paths` that openapi-typescript generates.

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths that accept a method. */
export type PathsWith<Paths, M extends Method> = {
  [P in keyof Paths]: Paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof Paths] &
  string;

/** The operation of a path and a method. */
export type Operation<Paths, P extends keyof Paths, M extends Method> = Paths[P] extends Record<M, infer O> ? O : never;

type Json<T> = T extends { content: { 'application/json': infer J } } ? J : never;

/** The data of a successful response. */
export type Data<O> = O extends { responses: infer R } ? { [S in keyof R]: S extends 200 | 201 ? Json<R[S]> : never }[keyof R] : never;

type PathOf<O> = O extends { parameters: { path: infer P } } ? { path: P } : { path?: undefined };
type QueryOf<O> = O extends { parameters: { query?: infer Q } } ? { query?: Q } : { query?: undefined };
type HeadersOf<O> = O extends { parameters: { header?: infer H } } ? { headers?: H } : { headers?: undefined };
type BodyOf<O> = O extends { requestBody: infer R }
  ? { body: Json<R> }
  : O extends { requestBody?: infer R }
    ? { body?: Json<NonNullable<R>> }
    : { body?: undefined };

/** What a call sends. */
export type Input<O> = PathOf<O> & QueryOf<O> & HeadersOf<O> & BodyOf<O> & { signal?: AbortSignal };

/** What a list sends: a whole list has no conditions. */
export type ListInput<O> = PathOf<O> & QueryOf<O> & { signal?: AbortSignal };

/** An argument that can be left out if none of its members is required. */
export type Optional<T> = {} extends T ? [input?: T] : [input: T];

/** The items of a page: the elements of its only array. */
export type Item<Page> = { [K in keyof Page]-?: NonNullable<Page[K]> extends readonly (infer I)[] ? I : never }[keyof Page];
