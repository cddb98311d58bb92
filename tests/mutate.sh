#!/usr/bin/env bash
# Seeds the faults of tests/mutations.txt, each alone, and says which of them the tests that they name notice.
# Called by ./dev mutate, in the project's folder, after it has built everything: mutate.sh JOBS [TEXT].
# mutate.sh JOBS every [STEP [FIRST [TEXT]]] takes the faults of every_fault.pl instead. Those that may stay are in
# tests/mutations_left.txt.
#
# The tree and the build stay as they are: the one faulty file is compiled beside them, and its object is linked
# before the library, out of which the linker then takes no other object with these symbols.
set -euo pipefail

work=build/mutants
list=${KVCAP_FAULTS:-tests/mutations.txt}
left=tests/mutations_left.txt

die() {
  echo "mutate: $*" >&2
  exit 1
}

# FILE | FROM | TO | TESTS, of the line with this number, into these variables. FROM may be the number of a line.
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
  commands=$work/commands
  if [[ $file == calibration/cuda/* ]]; then  # on the GPU that is not there, not by nvcc
    test_program=kvcap_gpu_tests programs=(kvcap_gpu_tests) commands=$work/gpu_commands
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

# Compiles the faulty file and links what the tests need, into the folder. `way`: "alone" is faster than "together"
# with others of its folder; but these may hold inlined functions of the file as they are without the fault. Returns 2
# where the faulty file does not compile.
build_faulty() {
  local root=$1 way=$2 source=$PWD/$file faulty=$1/$(basename "$file") command object program
  if [[ $file == *.json ]]; then
    embed "$root"
    source=$PWD/build/catalogue_files.cpp faulty=$root/catalogue_files.cpp
  fi
  if ! grep -qF -- "-c $source" "$commands"; then
    # It is compiled with others of its folder: so is the faulty one.
    local together
    together=$(grep -rlF --include='unity_*.cxx' "#include \"$source\"" "$PWD/build" | while read -r one; do
      if grep -qF -- "-c $one" "$commands"; then echo "$one"; fi
    done | head -n 1)
    [[ -n $together ]] || { echo "no program compiles $file"; return 1; }
    if [[ $way == together ]]; then
      faulty=$root/together.cxx
      sed "s|#include \"$source\"|#include \"$root/$(basename "$file")\"|" "$together" >"$faulty"
    fi
    source=$together
  fi
  command=$(grep -m 1 -F -- "-c $source" "$commands")
  object=$(sed 's/.* -o \([^ ]*\) -c .*/\1/' <<<"$command")
  # Unoptimised, since little of it runs; warnings are no matter of a fault.
  command="${command%% -MD *} -O0 -w -iquote $(dirname "$PWD/$file") -o $root/faulty.o -c $faulty"
  (cd build && eval "$command") || return 2
  for program in "${programs[@]}"; do
    command=$(grep -m 1 -E -- " -o (tests/|calibration/)?$program " "$commands")
    command=$(sed "s# -o [^ ]*$program # -o $root/$program #" <<<"$command")
    # A program's own object is replaced, one of a library goes before the first of the program's.
    if [[ " $command " == *" $object "* ]]; then
      command=${command/" $object "/" $root/faulty.o "}
    else
      command=${command/" -o "/" -Wl,-z,muldefs $root/faulty.o -o "}
    fi
    (cd build && eval "$command $linker") || return 1
  done
}

# The file with the fault.
put_fault() {
  if [[ $from =~ ^[0-9]+$ ]]; then
    TO=$to perl -pe '$_ = "$ENV{TO}\n" if $. == '"$from" "$file"
  else
    FROM=$from TO=$to perl -0pe '$n = s/\Q$ENV{FROM}\E/$ENV{TO}/g; END { $? = $n == 1 ? 0 : 1 }' "$file"
  fi
}

# Whether the list of what may stay has this fault.
may_stay() {
  local -; shopt -s extglob
  local stands=$from
  [[ ! $from =~ ^[0-9]+$ ]] || stands=$(sed -n "${from}p" "$file")
  stands=${stands##+( )}
  grep -qF -- "$file | $stands | ${to##+( )} | " "$left"
}

verdict_of() {
  local root=$1 way
  put_fault >"$root/$(basename "$file")" || { echo "ERROR $file must contain once: $from"; return; }
  for way in $ways; do
    local built=0
    build_faulty "$root" "$way" >"$root/log" 2>&1 || built=$?
    if [[ $built == 2 && $from =~ ^[0-9]+$ ]]; then
      echo "unbuilt"
      return
    elif [[ $built != 0 ]]; then
      echo "ERROR does not build (see $root/log)"
      return
    fi
    run_tests "$root" "$test_program" "$tests" >"$root/log" 2>&1 || { echo "noticed"; return; }
  done
  may_stay && echo "left" || echo "SURVIVED"
}

# Ends with a line "noticed SECONDS", "SURVIVED SECONDS" or "ERROR what" in the fault's file `verdict`. "left": it
# survived, and may. "unbuilt": it is no fault, since it does not compile.
one() {
  local root=$PWD/$work/$1 begin=$SECONDS verdict
  read_fault "$1"
  rm -rf "$root"
  mkdir -p "$root"
  verdict=$(verdict_of "$root")
  [[ $verdict == ERROR* ]] || verdict+=" $((SECONDS - begin))"
  echo "$verdict" >"$root/verdict"
  rm -rf "$root"/kvcap* "$root"/*.o "$root"/catalogue_files.cpp
  local where=$file
  [[ ! $from =~ ^[0-9]+$ ]] || where=$file:$from
  echo "$verdict s: $where: $to" | sed '/^ERROR/s/ s: / | /'
}

# A fault may make a test wait for ever or take all memory.
run_tests() {
  (
    ulimit -v 16000000
    cd "$1"
    TMPDIR=$1 KVCAP_BINARY=$1/kvcap KVCAP_CALIBRATE=$1/kvcap-calibrate timeout 300 "./$2" --gtest_filter="$3" --gtest_brief=1 --gtest_fail_fast
  )
}

# The tests of one line where there is no fault: they are there, and pass.
sound() {
  local tests=${1#* } program=${1%% *}
  if ! "build/tests/$program" --gtest_filter="$tests" --gtest_list_tests | grep '^ ' >/dev/null; then
    echo "ERROR no test is called $tests"
  elif ! timeout 300 "build/tests/$program" --gtest_filter="$tests" --gtest_brief=1 >/dev/null 2>&1; then
    echo "ERROR without a fault, too, these fail: $tests"
  fi
}

linker=$(command -v ld.lld >/dev/null && echo -fuse-ld=lld || true)
ways=together
[[ $list != "$work/every" ]] || ways="alone together"
case ${1:-} in
  one) one "$2" || true; exit ;;
  sound) sound "$2" || true; exit ;;
esac

jobs=$1 text=${2:-}
mkdir -p "$work"
if [[ $text == every ]]; then
  text=${5:-}
  tests/every_fault.pl "${3:-23}" "${4:-23}" >"$work/every"
  export KVCAP_FAULTS=$work/every
  list=$work/every
fi
ninja -C build -t commands kvcap kvcap_tests kvcap-calibrate kvcap_calibration_tests >"$work/commands"
ninja -C build -t commands kvcap_gpu_tests >"$work/gpu_commands"
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
done | awk '$2 == "unbuilt" {++unbuilt; next}
  {++all[$1]; ++total; sum += $2 == "noticed"; noticed[$1] += $2 == "noticed"; seconds[$1] += $3}
  $2 == "left" {++left[$1]; ++may}
  END {for (folder in all) printf "%-20s %3d of %3d noticed, %d may stay, %4d s\n", folder, noticed[folder], all[folder], left[folder], seconds[folder] | "sort"
       close("sort")
       printf "%d of %d faults noticed (%.1f %%), %d may stay, %d others did not compile\n", sum, total, 100 * sum / (total ? total : 1), may, unbuilt
       exit sum + may != total}' && passed=yes || passed=no
echo "${#chosen[@]} faults in $((SECONDS - begin)) s."
[[ $passed == yes ]]
