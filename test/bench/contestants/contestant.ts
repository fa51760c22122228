/** One engine under measurement, in a process of its own. */
export type Contestant = {
  /** Starts one execution of `steps` steps that do nothing; resolves once its caller knows that its end is durable. */
  run(steps: number): Promise<void>;
  /** Hands in one execution; answers the milliseconds from the call to the first line of its work. */
  msToStart(): Promise<number>;
  close(): Promise<void>;
};

export type OpenContestant = (adminUrl: string) => Promise<Contestant>;
