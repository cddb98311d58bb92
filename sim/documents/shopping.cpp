#include "documents/kind.h"

namespace kvcap {
namespace {

constexpr DocumentPart kParts[] = {{"items", Json::value_t::array}};

void shopping_markdown(const ReportDocument& document, MarkdownPage& page) {
  page.heading(2, document.name);
  std::vector<Cells> rows;
  for (const Json& item : list_of(document.content, "items"))
    rows.push_back({text_of(item, "what"), text_of(item, "usd")});
  page.table({"what", "usd"}, rows, 1);
}
void shopping_csv(const ReportDocument& document, CsvRows& rows) {
  rows.add_all(document.name, "", document.content, "");
}
std::vector<std::string> shopping_sentences(const Json& content) {
  return {"A list of " + std::to_string(list_of(content, "items").size()) + " parts."};
}

}  // namespace

const DocumentKind kShoppingDocument = {.schema = "kvcap.shopping/1",
                                        .page = "shopping",
                                        .parts = kParts,
                                        .add_csv = shopping_csv,
                                        .add_markdown = shopping_markdown,
                                        .sentences = shopping_sentences};

}  // namespace kvcap
