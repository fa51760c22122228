/** The program cannot start for a reason that its operator can remove. The message is one line, says what to do and holds no secret. */
export class StartFailure extends Error {}
