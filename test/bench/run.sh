#!/bin/sh
# Installs the peers, builds what is measured into a folder of its own and measures. Called by `npm run bench`.
set -eu
cd "$(dirname "$0")/../.."
[ -d test/bench/peers/node_modules ] || npm ci --prefix test/bench/peers --no-audit --no-fund
npx swc src libs migrations test/bench --config-file config/swc.json --ignore 'test/bench/peers/**' --out-dir test/bench/dist --delete-dir-on-start --quiet
exec node test/bench/dist/test/bench/bench.js "$@"
