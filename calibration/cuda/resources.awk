# Prints what ptxas -v reports of each kernel, the most over its template arguments and architectures, beside the
# bounds of resources.txt: awk -f resources.awk resources.txt LOG, with demangled names. Exits with 1 where a kernel
# exceeds a bound or has none, or where the log lacks a kernel.
function report(kernel,  verdict) {
  verdict = !(kernel in bound) ? "has no bound" : !(kernel in seen) ? "was not compiled" : \
      registers[kernel] > most_registers[kernel] || spills[kernel] > 0 || shared[kernel] > most_shared[kernel] ? "exceeds its bounds" : ""
  if (verdict != "") failed = 1
  printf "%-22s %9s %7s %8s   %s\n", kernel, registers[kernel] + 0 "/" most_registers[kernel] + 0, spills[kernel] + 0 "/0", \
      shared[kernel] + 0 "/" most_shared[kernel] + 0, verdict
}
FNR == NR {
  if ($0 !~ /^#/ && NF == 3) { bound[$1] = 1; most_registers[$1] = $2; most_shared[$1] = $3; order[++kernels] = $1 }
  next
}
/Compiling entry function/ {
  kernel = $0
  gsub(/\(anonymous namespace\)::/, "", kernel)
  sub(/.*Compiling entry function '(void )?/, "", kernel)
  sub(/[<(].*/, "", kernel)
  sub(/.*::/, "", kernel)
  seen[kernel]++
}
/bytes spill stores/ {
  spilled = 0
  for (i = 2; i <= NF; ++i) if ($i == "spill") spilled += $(i - 2)
  if (spilled > spills[kernel]) spills[kernel] = spilled
}
/Used [0-9]+ registers/ {
  for (i = 2; i <= NF; ++i) {
    if ($i ~ /^registers/ && $(i - 1) > registers[kernel]) registers[kernel] = $(i - 1)
    if ($i ~ /^smem/ && $(i - 2) > shared[kernel]) shared[kernel] = $(i - 2)
  }
}
END {
  printf "%-22s %9s %7s %8s   used/bound\n", "kernel", "registers", "spills", "shared"
  for (kernel in seen) if (!(kernel in bound)) order[++kernels] = kernel
  for (i = 1; i <= kernels; ++i) report(order[i])
  exit failed
}
