# Writes OUT/revision.h: the git revision of SOURCE, if it is a checkout; touched only when that changes.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12
                OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT revision)
  set(revision "unknown (not built from a git checkout)")
endif()
file(CONFIGURE OUTPUT ${OUT}/revision.h CONTENT "#pragma once
namespace kvcap {
inline constexpr const char* kRevision = \"${revision}\";
}  // namespace kvcap
")
