const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!);

/** Markup whose values are text: what somebody wrote never becomes a tag. */
export type Html = { readonly markup: string };
export const html = (parts: TemplateStringsArray, ...values: readonly (string | Html)[]): Html => ({
  markup: parts.reduce((text, part, index) => {
    const value = values[index - 1]!;
    return text + (typeof value === 'string' ? escape(value) : value.markup) + part;
  }),
});

/** What a page of ours may load and where it may send: this server alone, and no script in the page itself. */
export const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** A whole page. `script`: the address of its one script. */
export const page = (title: string, body: Html, script?: string): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/auth/page.css" />
        ${script === undefined ? '' : html`<script src="${script}" defer></script>`}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html> `.markup;

export const styles = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; }
main { width: min(24rem, 90vw); }
h1 { font-size: 1.4rem; }
label, button, input { display: block; width: 100%; box-sizing: border-box; font: inherit; }
input { padding: .5rem; margin: .25rem 0 1rem; }
button { padding: .6rem; margin: .5rem 0; cursor: pointer; }
small { opacity: .7; }
`;
