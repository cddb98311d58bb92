// KVCAP_CHECK(condition) and KVCAP_BUG("what"): assertions whose failure is a bug of kvcap. A failure prints
// the place and the reason and aborts; the command that forked the simulation then exits with code 1. Errors
// in user input throw InputError instead (input_error.h).
#pragma once

#include <cstdio>
#include <cstdlib>

namespace kvcap {

[[noreturn]] inline void fail_check(const char* file, int line, const char* what) {
  std::fprintf(stderr, "kvcap: bug: %s:%d: %s\n", file, line, what);
  std::abort();
}

}  // namespace kvcap

#define KVCAP_BUG(what) ::kvcap::fail_check(__FILE__, __LINE__, what)
#define KVCAP_CHECK(condition) ((condition) ? static_cast<void>(0) : KVCAP_BUG(#condition " does not hold"))
