#include "documents/kind.h"

#include <algorithm>

namespace kvcap {

const DocumentKind* find_document_kind(std::string_view schema) {
  const auto found = std::find_if(kDocumentKinds.begin(), kDocumentKinds.end(),
                                  [&](const DocumentKind* one) { return one->schema == schema; });
  return found == kDocumentKinds.end() ? nullptr : *found;
}

std::vector<std::string> document_sentences(const Json& document) {
  const DocumentKind* kind = find_document_kind(text_of(document, "schema"));
  return kind && kind->sentences ? kind->sentences(document) : std::vector<std::string>();
}

}  // namespace kvcap
