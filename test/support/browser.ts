import { IssueOwnerLinkCommand } from '@contexts/accounts/public/issue-owner-link.command.js';
import { sessionCookie } from '@platform/identity/session-cookie.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import type { Caller, TestApp } from './app.js';

export type PageAnswer = { readonly status: number; readonly body: Record<string, unknown>; readonly text: string; readonly headers: Headers };
type Asked = { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>>; /** null: sends none. */ readonly csrf?: string | null };

/** What a browser does for a page of ours: it keeps the cookie, and the page sends what proves it. */
export class Browser {
  cookie: string | null = null;
  csrf: string | null = null;

  constructor(readonly url: string) {}

  async ask(method: string, path: string, { body, headers = {}, csrf = this.csrf }: Asked = {}): Promise<PageAnswer> {
    const response = await fetch(this.url + path, {
      method,
      headers: {
        ...(this.cookie === null ? {} : { cookie: `${sessionCookie}=${this.cookie}` }),
        ...(csrf === null || method === 'GET' ? {} : { 'openbot-csrf': csrf }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    const answer: PageAnswer = { status: response.status, text, body: (isJson && text !== '' ? JSON.parse(text) : {}) as PageAnswer['body'], headers: response.headers };
    this.keep(answer);
    return answer;
  }

  private keep({ headers, body }: PageAnswer): void {
    const set = headers.get('set-cookie');
    if (set === null) return;
    this.cookie = new RegExp(`^${sessionCookie}=([^;]*)`).exec(set)?.[1] || null;
    this.csrf = this.cookie === null ? null : (body['csrf'] as string);
  }
}

export const goodPassword = 'seven tall giraffes';

/** A new link for an owner with an address: its text. */
export async function setupLink(app: TestApp, owner: Caller): Promise<string> {
  const link = await app.commands.execute(new IssueOwnerLinkCommand(owner.organizationId, { id: fromPublicId('member', owner.memberId)! }));
  if (!link.ok) throw new Error(link.failure._tag);
  return link.value;
}

/** A browser in which an owner has set a password and is signed in. */
export async function signedIn(app: TestApp, owner: Caller, password = goodPassword): Promise<Browser> {
  const browser = new Browser(app.url);
  const answer = await browser.ask('POST', '/auth/setup', { body: { token: await setupLink(app, owner), password } });
  if (answer.status !== 200) throw new Error(answer.text);
  return browser;
}
