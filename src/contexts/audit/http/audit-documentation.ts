export const exportDescription =
  'Newline-delimited JSON in the order of the chain. Every line holds `hash` and the hash before it, `previous`; the last line is the head, `{organization, project, length, head}`. ' +
  'A file without that line was cut: go on with the last `sequence` that you have as `afterSequence`. A fault on the way is a last line with the fields of RequestFailed. ' +
  '`node dist/src/cli.js verify-audit --file <file>` verifies an export without a database.';

export const exportExample =
  '{"organization":"org_01k0000000e00800000000000g","sequence":1,"id":"aud_01k0000000e00800000000000g","at":1767225600000,"action":"organization.created","outcome":"done",…,"hash":"5f1d…","previous":"0000…"}\n' +
  '{"organization":"org_01k0000000e00800000000000g","project":null,"length":1,"head":"5f1d…"}\n';

export const verifyDescription =
  'Hashes every entry anew. `firstBroken` names the first place where something was changed, removed, added or moved. Who may change everything in a database can write a chain anew, or cut ' +
  'it: give the `length` and `head` of an export that lies elsewhere, and the chain has to go through them.';
