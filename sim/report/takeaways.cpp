#include "report/takeaways.h"

#include <array>
#include <map>
#include <set>
#include <string_view>

#include "documents/kind.h"
#include "documents/results.h"
#include "report/changes.h"
#include "text/result_sentences.h"

namespace kvcap {

std::string typeset(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kSigns = {
      {{" +-", " \u00b1 "}, {" <= ", " \u2264 "}, {" >= ", " \u2265 "}, {" -> ", " \u2192 "}}};
  for (const auto& [ascii, sign] : kSigns)
    for (std::size_t at = text.find(ascii); at != std::string::npos; at = text.find(ascii, at + sign.size()))
      text.replace(at, ascii.size(), sign);
  return text;
}

namespace {

constexpr std::array<const char*, 10> kPages = {"overview",    "latency", "cache", "resources",
                                                "restoration", "sweep",   "plan",  "capacity",
                                                "validation",  "changes"};

// Collects the sentences of each page. If several inputs have sentences on a page, each sentence begins with
// the name of its input.
class Pages {
 public:
  void add(const std::string& page, const std::string& input, const std::string& sentence) {
    if (sentence.empty()) return;
    said_[page].emplace_back(input, sentence);
    speakers_[page].insert(input);
  }
  void add(const std::string& page, const std::string& input, const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences) add(page, input, sentence);
  }
  // Adds the sentences to a page, and the first one to the overview as well.
  void add_first(const std::string& page, const std::string& input,
                 const std::vector<std::string>& sentences) {
    if (!sentences.empty()) add("overview", input, sentences.front());
    add(page, input, sentences);
  }

  Takeaways take() {
    Takeaways pages;
    for (const char* page : kPages) {
      std::vector<std::string>& sentences = pages.emplace_back(page, std::vector<std::string>{}).second;
      const bool is_one = speakers_[page].size() < 2;
      for (const auto& [input, sentence] : said_[page])
        sentences.push_back(
            typeset(is_one || input.empty() ? sentence : std::string(input).append(": ").append(sentence)));
    }
    return pages;
  }

 private:
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> said_;
  std::map<std::string, std::set<std::string>> speakers_;
};

void speak_of_results(const ResultGroup& group, Pages& pages) {
  if (group.results.empty()) return;
  const Comparison results = comparison_of(group);
  pages.add("overview", group.name, headlined_sentences(results));
  pages.add("latency", group.name, latency_sentences(results));
  pages.add("cache", group.name, cache_sentences(results));
  pages.add("resources", group.name, resource_sentences(results));
}

}  // namespace

Takeaways takeaways(const std::vector<ReportDocument>& documents) {
  Pages pages;
  for (const ResultGroup& group : result_groups(documents, false)) speak_of_results(group, pages);
  for (const ReportDocument& document : documents) {
    const DocumentKind& kind = *find_document_kind(document.schema());
    if (document.is_before || !kind.sentences) continue;
    pages.add_first(std::string(kind.page), document.name, kind.sentences(document.content));
  }
  pages.add("changes", "", change_sentences(documents));
  return pages.take();
}

}  // namespace kvcap
