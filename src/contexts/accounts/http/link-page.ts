/** One page for both links. It has no text from outside: the script writes what the server answers as text. */
export const linkPage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>OpenBot</title><script src="/auth/link.js" defer></script></head>
<body>
<h1>OpenBot</h1>
<p id="about" role="status">Looking at your link.</p>
<form hidden>
<p><label>Your name <input name="name" autocomplete="name" maxlength="100"></label></p>
<p id="secret"><label>Choose a password <input name="password" type="password" autocomplete="new-password" minlength="12" maxlength="128"></label></p>
<button>Go on</button>
</form>
<noscript>This page needs JavaScript.</noscript>
</body>
</html>
`;

/** What stands behind the # leaves the address at once: no history and no neighbour reads it. */
export const linkScript = `'use strict';
const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
const invited = location.pathname === '/auth/invitation';
history.replaceState(null, '', location.pathname);
const form = document.querySelector('form');
const about = document.getElementById('about');
const ask = async (path, body) => {
  const response = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
};
const say = (error) => { about.textContent = error.message; };
const show = (text, secret) => {
  about.textContent = text;
  document.getElementById('secret').hidden = !secret;
  form.password.required = secret;
  form.hidden = false;
};
if (invited) {
  ask('/auth/invitations/look', { token }).then(({ organization, email, role, passwordSignIn }) => show('You are invited to ' + organization + ' as ' + role + ', with the address ' + email + '.', passwordSignIn), say);
} else show('Choose a password for your account.', true);
form.addEventListener('submit', (event) => {
  event.preventDefault();
  const body = { token, ...(form.name.value ? { name: form.name.value } : {}), ...(form.password.value ? { password: form.password.value } : {}) };
  ask(invited ? '/auth/invitations/accept' : '/auth/setup', body).then(async () => {
    form.remove();
    const { name } = await (await fetch('/v1/organization')).json();
    about.textContent = 'You are signed in' + (name ? ' to ' + name : '') + '.';
  }, say);
});
`;
