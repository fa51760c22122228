const longest = 2_000;

/** Where somebody wanted to go before they signed in, if it is a place of this server; else where signing in leads. */
export function returnTo(wanted: string | undefined): string {
  const fallback = '/auth/signed-in';
  // A browser takes \ for /, and drops line breaks: what begins with two slashes is somebody else's server.
  if (wanted === undefined || wanted.length > longest || !/^\/(?![/\\])[\x21-\x7e]*$/.test(wanted) || wanted.includes('\\')) return fallback;
  const here = 'http://here.invalid';
  const url = URL.canParse(wanted, here) ? new URL(wanted, here) : null;
  // What dots leave may begin with two slashes again.
  return url?.origin === here && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}${url.hash}` : fallback;
}
