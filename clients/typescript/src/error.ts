/** A refusal by the platform. Decide by code, which is stable: docs/ERRORS.md lists the codes. */
export class ReservationError extends Error {
  override readonly name = 'ReservationError';

  constructor(
    /** The HTTP status. */
    readonly status: number,
    /** For example EVENT_FULL; empty if the response is not the platform's. */
    readonly code: string,
    message: string,
    /** For example field and rule. */
    readonly details: Record<string, unknown>,
    /** Quote it when you report a problem. */
    readonly requestId: string,
    /** How many milliseconds the platform asks to wait before the next attempt. */
    readonly retryAfter: number,
  ) {
    super(message);
  }

  /** Reads the error of a response. now is in milliseconds. */
  static of(response: Response, text: string, now: number): ReservationError {
    const { code = '', message = response.statusText, details = {} } = parse(text);
    const { headers, status } = response;
    return new ReservationError(status, code, message, details, headers.get('x-request-id') ?? '', retryAfter(headers.get('retry-after'), now));
  }
}

interface Body {
  code?: string;
  message?: string;
  details?: Record<string, unknown>;
}

function parse(text: string): Body {
  try {
    const { error } = JSON.parse(text) as { error?: Body };
    return typeof error?.code === 'string' ? error : {};
  } catch {
    return {}; // the page of a proxy
  }
}

/** Reads a Retry-After header: seconds, or the date of a proxy. */
function retryAfter(value: string | null, now: number): number {
  if (value === null) return 0;
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return wait > 0 ? wait : 0;
}
