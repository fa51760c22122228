export const scimType = 'application/scim+json';
export const errorSchema = 'urn:ietf:params:scim:api:messages:2.0:Error';

type Body = { readonly _tag?: string; readonly message?: string; readonly detail?: string; readonly scimType?: string; readonly field?: string; readonly reason?: string };
const types: Readonly<Record<string, string>> = { InvalidInput: 'invalidSyntax', BodyTooLarge: 'tooMany' };

/** A problem as RFC 7644, 3.12, has it. What no protocol of others knows is said in `detail`. */
export function scimErrorOf(status: number, body: object): object {
  const { _tag = '', message, detail, scimType: type, field, reason } = body as Body;
  const errorId = (body as { errorId?: string }).errorId;
  const said = detail ?? (field === undefined ? message : `${field} ${reason ?? 'is not valid'}.`);
  const kind = type ?? types[_tag];
  return { schemas: [errorSchema], status: String(status), ...(kind === undefined ? {} : { scimType: kind }), detail: errorId === undefined ? said : `${said} (${errorId})` };
}

export const speaksScim = (url: string): boolean => url.startsWith('/scim/');
