import { html, page } from '@platform/http/html.js';
import { failedPages, type SignInFailed } from '../policies/sign-in-failed.js';

/** The script writes what the server answers as text. */
export const signInPage = page(
  'Sign in to OpenBot',
  html`<p id="about" role="status"></p>
    <form id="who">
      <label>Your e-mail address <input name="email" type="email" autocomplete="username" maxlength="254" required autofocus /></label><button>Go on</button>
    </form>
    <div id="choices"></div>
    <form id="password" hidden>
      <label>Password <input name="password" type="password" autocomplete="current-password" maxlength="128" required /></label><button>Sign in</button>
    </form>
    <noscript>This page needs JavaScript.</noscript>`,
  '/auth/sign-in.js',
);

export const signInScript = `'use strict';
const query = new URLSearchParams(location.search);
const [returnTo, organization] = [query.get('returnTo') ?? '/auth/signed-in', query.get('organization')];
const [who, password, choices, about] = ['who', 'password', 'choices', 'about'].map((id) => document.getElementById(id));
const ask = async (path, body) => {
  const response = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message + (answer.errorId ? ' (' + answer.errorId + ')' : ''));
  return answer;
};
const say = (error) => { about.textContent = error.message; };
const email = () => who.email.value.trim();
const place = () => {
  const url = new URL(returnTo, location.href);
  return url.origin === location.origin ? url.href : '/auth/signed-in';
};
const go = ({ url }) => location.assign(url + '?' + new URLSearchParams({ returnTo, email: email() }));
const button = (text, act) => {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = text;
  made.addEventListener('click', act);
  choices.append(made);
};
const usePassword = () => { password.hidden = false; password.password.focus(); };
who.addEventListener('submit', (event) => {
  event.preventDefault();
  about.textContent = '';
  choices.replaceChildren();
  password.hidden = true;
  ask('/auth/sign-in/options', { email: email(), ...(organization ? { organization } : {}) }).then(({ providers }) => {
    if (providers.length === 1 && query.get('choose') === null) return go(providers[0]);
    for (const each of providers) button(each.name + ' – ' + each.organizationName, () => go(each));
    if (providers.length === 0) usePassword();
    else button('Use a password', usePassword);
  }).catch(say);
});
password.addEventListener('submit', (event) => {
  event.preventDefault();
  ask('/auth/login', { email: email(), password: password.password.value, ...(organization ? { organization } : {}) }).then(() => location.assign(place())).catch(say);
});
`;

export const signedInPage = page(
  'You are signed in',
  html`<p id="about" role="status"></p>
    <button id="leave" hidden>Sign out</button>
    <noscript>This page needs JavaScript.</noscript>`,
  '/auth/signed-in.js',
);

export const signedInScript = `'use strict';
const [about, leave] = [document.getElementById('about'), document.getElementById('leave')];
const read = async (path) => {
  const response = await fetch(path);
  if (!response.ok) throw new Error(path);
  return response.json();
};
Promise.all([read('/auth/session'), read('/v1/me'), read('/v1/organization')]).then(([{ csrf }, me, organization]) => {
  about.textContent = me.name + ', ' + organization.name;
  leave.hidden = false;
  leave.addEventListener('click', async () => {
    const left = await fetch('/auth/logout', { method: 'POST', headers: { 'openbot-csrf': csrf } });
    const { providerLogout } = await left.json();
    location.assign(providerLogout ?? '/auth/signed-out');
  });
}, () => location.replace('/auth/sign-in'));
`;

export const signedOutPage = page('You are signed out', html`<p>You may close this page, or <a href="/auth/sign-in">sign in again</a>.</p>`);

/** `errorId`: what an operator finds the cause by. */
export function failedPage({ reason }: SignInFailed, errorId: string, again: string): string {
  const { title, text, again: mayHelp } = failedPages[reason];
  const way = mayHelp ? html`<p><a href="${again}">Sign in again</a></p>` : html`<p><a href="/auth/sign-in?choose">Sign in differently</a></p>`;
  return page(
    title,
    html`<p>${text}</p>
      ${way}
      <p><small>Error ${errorId}</small></p>`,
  );
}
