export const callStates = ['intent', 'sending', 'succeeded', 'failed', 'unknown', 'abandoned'] as const;
export type CallState = (typeof callStates)[number];

/** How a person settles a call whose result was lost: it ends without one, is sent again, or gets the result that the person knows of. */
export const callDecisions = ['stop', 'retry', 'result'] as const;
export type CallDecision = (typeof callDecisions)[number];

/** Names one attempt of one outside call of an execution. */
export type CallReference = { readonly step: number; readonly name: string; readonly attempt: number };

/** The largest number that the database holds in these places. */
export const maxCallNumber = 2_147_483_647;
export const maxCallNameLength = 200;
const callId = /^(0|[1-9]\d{0,9})\.(.{1,200})\.(0|[1-9]\d{0,9})$/su;

/** The public form: `2.tool:0.1` is the first attempt of the tool call at place 0 of step 2. */
export const toCallId = ({ step, name, attempt }: CallReference): string => `${step}.${name}.${attempt}`;

/** `null`: no call can have this id. */
export function parseCallId(text: string): CallReference | null {
  const [, step, name, attempt] = callId.exec(text) ?? [];
  if (step === undefined || name === undefined || attempt === undefined) return null;
  const reference = { step: Number(step), name, attempt: Number(attempt) };
  return reference.step <= maxCallNumber && reference.attempt <= maxCallNumber ? reference : null;
}
