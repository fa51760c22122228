import { StartFailure } from '@platform/local/start-failure.js';

/** Another login of the same database. A URL of a socket folder has no host, and then takes its user as parameters. */
export function withLogin(url: string, user: string, password: string): string {
  const target = new URL(url);
  if (target.hostname === '') {
    target.searchParams.set('user', user);
    target.searchParams.set('password', password);
  } else {
    target.username = encodeURIComponent(user);
    target.password = encodeURIComponent(password);
  }
  return target.toString();
}

export const loginOf = (url: string): string => decodeURIComponent(new URL(url).username) || (new URL(url).searchParams.get('user') ?? '');

/** What of a URL may be printed: the server and the database, never a user or a password. */
export const placeOf = (url: string): string => {
  const { hostname, port, pathname, searchParams } = new URL(url);
  return `${hostname || (searchParams.get('host') ?? 'localhost')}:${port || '5432'}${pathname}`;
};

type SystemError = { readonly code?: string; readonly message?: string; readonly errors?: readonly unknown[] };

const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: start the database or correct',
  ENOTFOUND: 'its host name is unknown: correct',
  EAI_AGAIN: 'its host name cannot be looked up now: check the network or correct',
  ETIMEDOUT: 'it does not answer: check the network or correct',
  ECONNRESET: 'it closed the connection: check whether it wants TLS, or correct',
  '28P01': 'it refuses the password: correct',
  '28000': 'it refuses the user: correct',
  '3D000': 'there is no such database: create it or correct',
  '57P03': 'it is starting up or shutting down: try again when it is ready, or correct',
  '53300': 'it has no free connection: raise its max_connections or correct',
};

/** The one line for a database that cannot be reached; any other error stays what it is. `variable` holds the URL. */
export function databaseFault(error: unknown, variable: string, url: string): unknown {
  const { code, errors, message } = error as SystemError;
  // A host name with several addresses fails with all their errors at once.
  const found = code ?? (errors?.[0] as SystemError | undefined)?.code ?? (/timeout|terminated/i.test(message ?? '') ? 'ETIMEDOUT' : '');
  const fault = faults[found];
  return fault ? new StartFailure(`The database at ${placeOf(url)} cannot be used (${found}): ${fault} ${variable}.`) : error;
}
