#include "text/sentence.h"

namespace kvcap {

std::string filled(std::string_view text, const std::function<std::string(std::string_view)>& fill) {
  std::string all;
  for (std::size_t open; (open = text.find('{')) != std::string_view::npos;) {
    const std::size_t close = text.find('}', open);
    KVCAP_CHECK(close != std::string_view::npos);
    all += text.substr(0, open);
    all += fill(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
  return all += text;
}

std::string paragraph_of(const std::vector<std::string>& texts) {
  std::string paragraph;
  for (const std::string& text : texts)
    if (!text.empty()) paragraph += (paragraph.empty() ? "" : " ") + text;
  return paragraph;
}

}  // namespace kvcap
