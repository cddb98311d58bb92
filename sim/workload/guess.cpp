#include <algorithm>
#include <span>

#include "workload/gz_file.h"
#include "workload/source.h"

namespace kvcap {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

bool is_among(std::string_view key, std::span<const std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// By the first key of the first object.
SourceKind kind_of_object(std::string_view text) {
  constexpr std::string_view kLevalKeys[] = {"instructions", "outputs", "input", "source", "evaluation"};
  constexpr std::string_view kMooncakeKeys[] = {"timestamp", "input_length", "output_length", "hash_ids"};
  const std::size_t quote = text.find_first_not_of(kBlank, 1);
  if (quote == std::string_view::npos || text[quote] != '"') return SourceKind::sessions;
  const std::string_view key = text.substr(quote + 1, text.find('"', quote + 1) - quote - 1);
  if (is_among(key, kLevalKeys)) return SourceKind::leval;
  return is_among(key, kMooncakeKeys) ? SourceKind::mooncake : SourceKind::sessions;
}

// By a column that only one of the readers knows.
SourceKind kind_of_table(std::string_view header) {
  const auto has = [header](std::string_view name) { return header.find(name) != std::string_view::npos; };
  if (has("ContextTokens")) return SourceKind::azure;
  if (has("Request tokens")) return SourceKind::burstgpt;
  if (has("request_id")) return SourceKind::vllm;
  return has("arrival_s") ? SourceKind::csv : SourceKind::sessions;
}

}  // namespace

SourceKind guess_kind(const std::string& path) {
  std::string beginning(4096, ' ');
  GzFile file(path);
  beginning.resize(file.read(beginning));
  const std::size_t start = beginning.find_first_not_of(kBlank);
  if (start == std::string::npos) return SourceKind::sessions;
  const std::string_view text = std::string_view(beginning).substr(start);
  if (text.front() == '[') return SourceKind::sharegpt;
  return text.front() == '{' ? kind_of_object(text) : kind_of_table(text.substr(0, text.find('\n')));
}

}  // namespace kvcap
