const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const longest = 253;

/** The one spelling of a domain that DNS knows; `null`: the text is none, or a whole top-level domain. */
export function domainName(text: string): string | null {
  const given = text.trim().replace(/\.$/, '');
  if (/[^\p{L}\p{N}\p{M}.-]/u.test(given) || !URL.canParse(`http://${given}`)) return null;
  const name = new URL(`http://${given}`).hostname;
  const labels = name.split('.');
  const isName = name.length <= longest && labels.length > 1 && labels.every((each) => label.test(each)) && !/^\d+$/.test(labels.at(-1)!);
  return isName ? name : null;
}

/** The domain of an e-mail address; `null`: it has none. */
export function domainOf(email: string): string | null {
  const at = email.lastIndexOf('@');
  return at > 0 ? domainName(email.slice(at + 1)) : null;
}
