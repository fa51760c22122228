#!/usr/bin/env bash
# A fresh clone of the commit, by the README alone: npm ci && npm start, the first conversation, Ctrl-C.
# As root it does so twice: as root, and as a user made for it whose home nobody else may enter. Usage: fresh-clone.sh [root|user]
set -euo pipefail
set -m # Background jobs get a process group of their own, so that Ctrl-C reaches one start and nothing else.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
ready_within_s=${READY_WITHIN_S:-420}
stopped_within_s=90
made_user=
work=
running=

fail() {
  echo "fresh clone as $who: $*" >&2
  [ -f "$work/start.log" ] && tail -n 40 "$work/start.log" >&2
  exit 1
}

# Where PostgreSQL keeps its data, wherever that is.
data_folder() {
  local version
  version=$(find -L "$work/openbot/.openbot" -maxdepth 3 -name PG_VERSION 2>/dev/null | head -n 1)
  if [ -n "$version" ]; then readlink -f "$(dirname "$version")"; fi
}

# What a start that failed left running would keep its user and its folder in use.
stop_postgres() {
  local pid
  pid=$(head -n 1 "$(data_folder)/postmaster.pid" 2>/dev/null) || return 0
  kill -QUIT "$pid" 2>/dev/null || return 0
  while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}

clean() {
  if [ -n "$running" ]; then kill -KILL -- "-$running" 2>/dev/null || true; fi
  if [ -n "$work" ] && [ -d "$work" ]; then
    stop_postgres
    # As root the data may lie outside, behind a link.
    local place
    for place in $(find "$work/openbot/.openbot" -maxdepth 2 -type l -name data -exec readlink {} + 2>/dev/null); do rm -rf "$(dirname "$place")"; done
    rm -rf "$work"
  fi
  if [ -n "$made_user" ]; then userdel --remove "$made_user" 2>/dev/null || true; fi
}
trap clean EXIT

# Runs a command as whom the start is for, in the clone.
as_who() {
  if [ -n "$made_user" ]; then
    (cd "$work/openbot" && exec setpriv --reuid="$made_user" --regid="$made_user" --init-groups env HOME="$work" USER="$made_user" LOGNAME="$made_user" npm_config_registry="$registry" "$@")
  else
    (cd "$work/openbot" && exec "$@")
  fi
}

# The block under the README's heading of the first conversation: what a newcomer would paste.
conversation() {
  awk '/^#+ .*[Ff]irst conversation/ { under = 1; next } under && /^```/ { if (inside) exit; inside = 1; next } inside { print }' "$work/openbot/README.md"
}

processes_on() {
  local process line
  for process in /proc/[0-9]*; do
    # One that ended since it was listed is not left.
    line=$({ tr '\0' ' ' <"$process/cmdline"; } 2>/dev/null) || continue
    case $line in *"$1"*) echo "${process#/proc/}: $line" ;; esac
  done
}

registry=$(npm config get registry)
who=${1:-both}
if [ "$who" = both ]; then
  [ "$(id -u)" = 0 ] || exec "$0" self
  "$0" root
  exec "$0" user
fi

if [ "$who" = user ]; then
  made_user=openbot-fresh-$$
  useradd --create-home --shell /bin/sh "$made_user"
  work=$(getent passwd "$made_user" | cut -d: -f6)
  chmod 0700 "$work"
  git clone --quiet "$here" "$work/openbot"
  chown -R "$made_user:" "$work"
else
  work=$(mktemp -d)
  git clone --quiet "$here" "$work/openbot"
fi

port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
began=$SECONDS
: >"$work/start.log"
export PORT=$port
# The two commands of the README, in one shell as there.
as_who sh -c 'npm ci && exec npm start' >"$work/start.log" 2>&1 </dev/null &
running=$!

until grep -q ":$port/docs" "$work/start.log"; do
  kill -0 "$running" 2>/dev/null || fail 'it ended before it was ready'
  [ $((SECONDS - began)) -lt "$ready_within_s" ] || fail "it was not ready within $ready_within_s s"
  sleep 0.2
done
echo "fresh clone as $who: ready after $((SECONDS - began)) s"

conversation >"$work/conversation.sh"
[ -s "$work/conversation.sh" ] || fail 'the README has no block under a heading "First conversation"'
# The README speaks of the default port; the statuses go where they disturb no pipe.
{
  echo 'set -euo pipefail'
  echo 'curl() { command curl --max-time 60 -w "%{stderr}[status %{http_code}]\n" "$@"; }'
  sed -E "s#(localhost|127\.0\.0\.1):3000#127.0.0.1:$port#g" "$work/conversation.sh"
} >"$work/conversation.run.sh"
chmod 0755 "$work/conversation.run.sh"
as_who bash "$work/conversation.run.sh" >"$work/said.log" 2>"$work/statuses.log" </dev/null || fail "the README's conversation failed: $(cat "$work/statuses.log" "$work/said.log")"

says() { grep -qE -- "$2" "$work/$1" || fail "the conversation shows no $3: $(cat "$work/statuses.log" "$work/said.log")"; }
says statuses.log '\[status 202\]' 'status 202'
if grep -E '\[status [45]' "$work/statuses.log" >&2; then fail 'a call of the conversation was refused'; fi
says said.log '"executionId"' 'receipt'
says said.log '^event: execution' 'observed event'
says said.log '"completed"' 'completed end'
execution=$(grep -oE '"executionId": *"[^"]+"' "$work/said.log" | head -n 1 | cut -d'"' -f4)
as_who node test/e2e/stored-answer.mjs "$execution" || fail 'the answer is not stored'

kill -INT -- "-$running"
stopping=$SECONDS
while kill -0 "$running" 2>/dev/null; do
  [ $((SECONDS - stopping)) -lt "$stopped_within_s" ] || fail "Ctrl-C did not stop it within $stopped_within_s s"
  sleep 0.2
done
code=0
wait "$running" 2>/dev/null || code=$?
running=
# 130: npm was interrupted and says so, after the server ended as it should.
case $code in 0 | 130) ;; *) fail "Ctrl-C ended it with code $code" ;; esac
data=$(data_folder)
[ -n "$data" ] || fail 'its data is nowhere to be found'
[ ! -e "$data/postmaster.pid" ] || fail 'PostgreSQL left its postmaster.pid: it was not stopped'
left=$(processes_on "$work/openbot" && processes_on "$data")
[ -z "$left" ] || fail "these processes are left: $left"
echo "fresh clone as $who: the conversation was held, the answer is stored, Ctrl-C left nothing behind ($((SECONDS - began)) s)"
