// CHECK(condition): a broken invariant is our bug. Prints place and condition, then aborts (the command
// that forked the simulation turns that into exit code 1). Never used for user input: see input_error.h.
#pragma once

#include <cstdio>
#include <cstdlib>

#define KVCAP_CHECK(condition)                                                                       \
  do {                                                                                               \
    if (!(condition)) {                                                                              \
      std::fprintf(stderr, "kvcap: bug: %s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                                  \
    }                                                                                                \
  } while (false)
