#!/usr/bin/env bash
# GitHub Copilot CLI: a build installs an exact version from npm into a folder of its own. Another project of the same user has a newer one in its folder.
# Guess: each `copilot` is the version that its folder has; without the network, it can't be anything else.
# Seen: once the newer one has started (`--version` is enough), the older one is the newer one: it looks into ~/.cache/copilot and runs the newest version
# that it finds there. So the same pin is 1.0.70 in the morning and 1.0.102 in the evening, with other hooks and other time-outs, also offline, in CI and with
# automatic updates off by their documented default for CI. `COPILOT_AUTO_UPDATE=false` runs what is installed.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir 1.0.70 1.0.102 home
npm install --prefix 1.0.70 --no-audit --no-fund --loglevel=error @github/copilot@1.0.70 >/dev/null
npm install --prefix 1.0.102 --no-audit --no-fund --loglevel=error @github/copilot@1.0.102 >/dev/null

# Print the version that a folder's program says it is; other words set variables.
runs() {
  local folder=$1
  shift
  env -u COPILOT_AUTO_UPDATE HOME="$PWD/home" XDG_CACHE_HOME="$PWD/home/.cache" "$@" "$folder/node_modules/.bin/copilot" --version </dev/null |
    grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -1
}

seen="alone: $(runs 1.0.70)
the newer one: $(runs 1.0.102)
the older one after that: $(runs 1.0.70)
offline: $(runs 1.0.70 COPILOT_OFFLINE=true)
in CI: $(runs 1.0.70 CI=true)
without updates: $(runs 1.0.70 COPILOT_AUTO_UPDATE=false)"
expected="alone: 1.0.70
the newer one: 1.0.102
the older one after that: 1.0.102
offline: 1.0.102
in CI: 1.0.102
without updates: 1.0.70"
echo "$seen"
if [[ $seen != "$expected" ]]; then
  echo "Changed. Expected:"
  echo "$expected"
  exit 1
fi
