export type Page = { readonly status: number; readonly url: string; readonly text: string; readonly headers: Headers };

/** A browser without a screen: it keeps cookies per host and goes where it is sent. */
export class WalkingBrowser {
  private readonly jar = new Map<string, string>();

  /** `blocksCookies`: keeps none. */
  constructor(readonly blocksCookies = false) {}

  cookie(name: string): string | undefined {
    return [...this.jar].find(([key]) => key.endsWith(` ${name}`))?.[1];
  }

  forget(name: string): void {
    for (const key of this.jar.keys()) if (key.endsWith(` ${name}`)) this.jar.delete(key);
  }

  async step(url: string, init: RequestInit = {}): Promise<Page> {
    const { host } = new URL(url);
    const cookie = [...this.jar].filter(([key]) => key.startsWith(`${host} `)).map(([key, value]) => `${key.slice(host.length + 1)}=${value}`).join('; '); // prettier-ignore
    const response = await fetch(url, { ...init, redirect: 'manual', headers: { ...(init.headers as Record<string, string>), ...(cookie === '' ? {} : { cookie }) } });
    for (const line of response.headers.getSetCookie()) this.keep(host, line);
    return { status: response.status, url, text: await response.text(), headers: response.headers };
  }

  /** Follows what it is sent to; answers the first page that sends it nowhere. */
  async go(url: string): Promise<Page> {
    for (let at = url, steps = 0; ; steps += 1) {
      const page = await this.step(at);
      const next = page.headers.get('location');
      if (next === null) return page;
      if (steps > 20) throw new Error(`sent round in circles, last to ${next}`);
      at = new URL(next, at).href;
    }
  }

  private keep(host: string, line: string): void {
    if (this.blocksCookies) return;
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === '' || /max-age=0/i.test(line)) this.jar.delete(`${host} ${name}`);
    else this.jar.set(`${host} ${name}`, value);
  }
}
