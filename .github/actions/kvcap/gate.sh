#!/usr/bin/env bash
# Simulates SCENARIO at the commit BASE and as it is now, and compares the results as REQUIRE demands: exit code 3
# if a requirement does not hold. The comparison goes to GITHUB_STEP_SUMMARY, its path to GITHUB_OUTPUT. REQUIRE and
# SET have a requirement and a PATH=VALUE a line.
set -euo pipefail

kvcap=${KVCAP:-kvcap}
work=$(mktemp -d "${RUNNER_TEMP:-/tmp}/kvcap.XXXXXX")
summary=$work/summary.md
output=${GITHUB_OUTPUT:-/dev/null}
echo "summary=$summary" >>"$output"

options() {
  local name=$1 line
  while IFS= read -r line; do
    if [[ -n ${line// /} ]]; then printf '%s\n%s\n' "$name" "$line"; fi
  done
}
mapfile -t sets < <(options --set <<<"${SET:-}")
mapfile -t requirements < <(options --require <<<"${REQUIRE:-}")

finish() {
  git worktree remove --force "$work/base" 2>/dev/null || true
  cat "$summary" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
}

git worktree add --quiet --detach "$work/base" "$BASE"
trap finish EXIT
: >"$summary"
if [[ ! -e $work/base/$SCENARIO ]]; then
  echo "kvcap: $SCENARIO is new: there is nothing to compare it with" | tee "$summary"
  exit 0
fi
# Paths in a scenario are relative to it.
"$kvcap" run "$work/base/$SCENARIO" "${sets[@]}" --out "$work/before" >/dev/null
"$kvcap" run "$SCENARIO" "${sets[@]}" --out "$work/after" >/dev/null
code=0
"$kvcap" report "$work/after" --before "$work/before" --format markdown --title "kvcap: $SCENARIO" "${requirements[@]}" \
  >"$summary" 2>"$work/why" || code=$?
cat "$work/why" >&2
if [[ -s $work/why ]]; then printf '\n```\n%s\n```\n' "$(<"$work/why")" >>"$summary"; fi
exit $code
