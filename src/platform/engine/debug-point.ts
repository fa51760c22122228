/** `name`, `name#2` for its second time, `name@SIGSTOP` to pause instead of kill. Set by `OPENBOT_DEBUG_POINT`, refused in production. */
export function debugPoint(setting: string | null): (point: string) => void {
  if (setting === null) return () => undefined;
  const [, name, count, signal] = /^([^#@]+)(?:#(\d+))?(?:@(SIG[A-Z]+))?$/.exec(setting) ?? [];
  let left = Number(count ?? 1);
  return (point) => {
    if (point !== name) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, signal ?? 'SIGKILL');
  };
}
