#!/usr/bin/env bash
# Seeds the faults of tests/mutations.txt, each alone, and says which of them the tests that they name notice.
# Called by ./dev mutate, in the project's folder, after it has built everything: mutate.sh JOBS [TEXT].
#
# The tree and the build stay as they are: the one faulty file is compiled beside them, and its object is linked
# before the library, out of which the linker then takes no other object with these symbols.
set -euo pipefail

work=build/mutants
list=tests/mutations.txt

die() {
  echo "mutate: $*" >&2
  exit 1
}

# FILE | FROM | TO | TESTS, of the line with this number, into these variables.
read_fault() {
  local line
  line=$(sed -n "$1p" "$list")
  file=${line%% | *} line=${line#* | }
  tests=${line##* | } line=${line% | *}
  from=${line%% | *} to=${line#* | }
  test_program=kvcap_tests programs=(kvcap kvcap_tests)
  if [[ $file == calibration/* ]]; then
    test_program=kvcap_calibration_tests programs=(kvcap-calibrate kvcap_calibration_tests)
  fi
}

# The faulty catalogue, as the source file that the build makes of it.
embed() {
  local root=$1 command
  mkdir -p "$root/tree"
  cp -r models hwprofiles traces scenarios "$root/tree"
  cp "$root/$(basename "$file")" "$root/tree/$file"
  command=$(grep -o 'cmake -DOUT=[^ ]*catalogue_files.cpp .*embed.cmake' "$work/commands")
  command=${command/$PWD\/build\/catalogue_files.cpp/$root/catalogue_files.cpp}
  eval "${command/-DROOT=$PWD/-DROOT=$root/tree}"
  rm -r "$root/tree"
}

# Compiles the faulty file and links what the tests need, into the folder.
build_faulty() {
  local root=$1 source=$PWD/$file faulty=$1/$(basename "$file") command object program
  if [[ $file == *.json ]]; then
    embed "$root"
    source=$PWD/build/catalogue_files.cpp faulty=$root/catalogue_files.cpp
  fi
  if ! grep -qF -- "-c $source" "$work/commands"; then
    # It is compiled with others of its folder: so is the faulty one.
    local together
    together=$(grep -rlF --include='unity_*.cxx' "#include \"$source\"" build | head -n 1)
    [[ -n $together ]] || { echo "no program compiles $file"; return 1; }
    faulty=$root/together.cxx
    sed "s|#include \"$source\"|#include \"$root/$(basename "$file")\"|" "$together" >"$faulty"
    source=$PWD/$together
  fi
  command=$(grep -m 1 -F -- "-c $source" "$work/commands")
  object=$(sed 's/.* -o \([^ ]*\) -c .*/\1/' <<<"$command")
  # Unoptimised, since little of it runs; warnings are no matter of a fault.
  command="${command%% -MD *} -O0 -w -iquote $(dirname "$PWD/$file") -o $root/faulty.o -c $faulty"
  (cd build && eval "$command") || return 1
  for program in "${programs[@]}"; do
    command=$(grep -m 1 -E -- " -o (tests/|calibration/)?$program " "$work/commands")
    command=$(sed "s# -o [^ ]*$program # -o $root/$program #" <<<"$command")
    # A program's own object is replaced, one of a library goes before the first of the program's.
    if [[ " $command " == *" $object "* ]]; then
      command=${command/" $object "/" $root/faulty.o "}
    else
      command=${command/" -o "/" $root/faulty.o -o "}
    fi
    (cd build && eval "$command $linker") || return 1
  done
}

# Ends with a line "noticed SECONDS", "SURVIVED SECONDS" or "ERROR what" in the fault's file `verdict`.
one() {
  local root=$PWD/$work/$1 begin=$SECONDS
  read_fault "$1"
  rm -rf "$root"
  mkdir -p "$root"
  local copy=$root/$(basename "$file")
  if ! FROM=$from TO=$to perl -0pe '$n = s/\Q$ENV{FROM}\E/$ENV{TO}/g; END { $? = $n == 1 ? 0 : 1 }' "$file" >"$copy"; then
    echo "ERROR $file must contain once: $from" >"$root/verdict"
  elif ! build_faulty "$root" >"$root/log" 2>&1; then
    echo "ERROR does not build (see $work/$1/log)" >"$root/verdict"
  elif run_tests "$root" "$test_program" "$tests" >"$root/log" 2>&1; then
    echo "SURVIVED $((SECONDS - begin))" >"$root/verdict"
  else
    echo "noticed $((SECONDS - begin))" >"$root/verdict"
  fi
  rm -f "$root"/kvcap* "$root"/*.o "$root"/catalogue_files.cpp
  echo "$(cat "$root/verdict") s: $file: $to" | sed '/^ERROR/s/ s: / | /'
}

# A fault may make a test wait for ever or take all memory.
run_tests() {
  (
    ulimit -v 16000000
    cd "$1"
    TMPDIR=$1 KVCAP_BINARY=$1/kvcap KVCAP_CALIBRATE=$1/kvcap-calibrate timeout 300 "./$2" --gtest_filter="$3" --gtest_brief=1
  )
}

# The tests of one line where there is no fault: they are there, and pass.
sound() {
  local tests=${1#* } program=${1%% *}
  if ! "build/tests/$program" --gtest_filter="$tests" --gtest_list_tests | grep -q '^ '; then
    echo "ERROR no test is called $tests"
  elif ! timeout 300 "build/tests/$program" --gtest_filter="$tests" --gtest_brief=1 >/dev/null 2>&1; then
    echo "ERROR without a fault, too, these fail: $tests"
  fi
}

linker=$(command -v ld.lld >/dev/null && echo -fuse-ld=lld || true)
case ${1:-} in
  one) one "$2" || true; exit ;;
  sound) sound "$2" || true; exit ;;
esac

jobs=$1 text=${2:-}
mkdir -p "$work"
ninja -C build -t commands kvcap kvcap_tests kvcap-calibrate kvcap_calibration_tests >"$work/commands"
mapfile -t chosen < <(grep -nF -- "$text" "$list" | grep -vE '^[0-9]+:(#|$)' | cut -d : -f 1)
[[ ${#chosen[@]} -gt 0 ]] || die "$list has no fault with: $text"

begin=$SECONDS
for number in "${chosen[@]}"; do
  read_fault "$number"
  echo "$test_program $tests"
done | sort -u >"$work/filters"
xargs -P "$jobs" -d '\n' -n 1 "$0" sound <"$work/filters" >"$work/unsound"
cat "$work/unsound"
[[ ! -s $work/unsound ]] || die "fix $list or these tests first"
echo "Without a fault all tests pass ($(wc -l <"$work/filters") groups, $((SECONDS - begin)) s)."

printf '%s\n' "${chosen[@]}" | xargs -P "$jobs" -n 1 "$0" one || true

# The verdicts by folder.
for number in "${chosen[@]}"; do
  read_fault "$number"
  echo "$(dirname "$file") $(cat "$work/$number/verdict")"
done | awk '{++all[$1]; sum += $2 == "noticed"; noticed[$1] += $2 == "noticed"; seconds[$1] += $3}
  END {for (folder in all) printf "%-20s %3d of %3d noticed, %4d s\n", folder, noticed[folder], all[folder], seconds[folder] | "sort"
       close("sort"); exit sum != NR}' && passed=yes || passed=no
echo "${#chosen[@]} faults in $((SECONDS - begin)) s."
[[ $passed == yes ]]
