#include "documents/kind.h"

#include <algorithm>
#include <array>

namespace kvcap {

std::span<const DocumentKind* const> document_kinds() {
  static constexpr std::array kKinds = {&kResultDocument,    &kCompareDocument,    &kRestoreDocument,
                                        &kSweepRowsDocument, &kPlanDocument,       &kBreakEvenDocument,
                                        &kCapacityDocument,  &kValidationDocument, &kTraceDocument};
  return kKinds;
}

const DocumentKind* find_document_kind(std::string_view schema) {
  const auto kinds = document_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const DocumentKind* one) { return one->schema == schema; });
  return found == kinds.end() ? nullptr : *found;
}

}  // namespace kvcap
