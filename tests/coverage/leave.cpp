// gcc writes counts of executed lines when a process exits. Workers leave with _exit() and broken invariants
// with abort(), which write nothing: the linker directs both calls here (-Wl,--wrap).
#include <pthread.h>

extern "C" {
void __gcov_dump();
void __gcov_reset();
[[noreturn]] void __real__exit(int code);
[[noreturn]] void __real_abort();

[[noreturn]] void __wrap__exit(int code) {
  __gcov_dump();
  __real__exit(code);
}
[[noreturn]] void __wrap_abort() {
  __gcov_dump();
  __real_abort();
}
}

namespace {
// A child does not count again what its parent has executed.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, __gcov_reset);
}  // namespace
