import { Command } from '@nestjs/cqrs';

/** Ends the session that a browser still had when a new one began for it, of whatever organization. One that is none, or not proven, is let be. */
export class LeaveSessionCommand extends Command<null> {
  constructor(readonly session: string | null) {
    super();
  }
}
