#include "launch/flags.h"

#include <algorithm>

namespace kvcap {

std::vector<Word> words_of(std::string_view words) {
  std::vector<Word> list;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::string_view one = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) {
      list.push_back({one, ""});
    } else {
      list.push_back({one.substr(0, equals), one.substr(equals + 1)});
    }
  }
  return list;
}

std::string_view first_name(const FlagRow& row) { return row.names.substr(0, row.names.find(' ')); }

std::string normal_flag(std::string_view spelling) {
  std::string flag(spelling);
  if (!flag.starts_with("--")) return flag;
  // Members of JSON and YAML keep their underscores.
  const std::size_t end = std::min(flag.find('.'), flag.size());
  std::replace(flag.begin(), flag.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  return flag;
}

// LMCache's and Dynamo's variables stand beside any engine's flags.
static bool is_read_by(const FlagRow& row, Stack engine) {
  return row.stack == engine || row.stack == Stack::lmcache || row.stack == Stack::dynamo;
}

std::vector<const FlagRow*> find_flags(Stack engine, std::string_view spelling) {
  const std::string wanted = normal_flag(spelling);
  std::vector<const FlagRow*> rows;
  for (const FlagRow& row : flag_table()) {
    if (!is_read_by(row, engine)) continue;
    const std::vector<Word> names = words_of(row.names);
    const bool is_it = std::any_of(names.begin(), names.end(),
                                   [&](const Word& one) { return normal_flag(one.word) == wanted; });
    if (is_it) rows.push_back(&row);
  }
  return rows;
}

std::vector<std::string_view> flag_names(Stack engine) {
  std::vector<std::string_view> names;
  for (const FlagRow& row : flag_table()) {
    if (!is_read_by(row, engine)) continue;
    for (const Word& one : words_of(row.names)) names.push_back(one.word);
  }
  return names;
}

std::vector<const FlagRow*> flags_of_policy(std::string_view policy) {
  std::vector<const FlagRow*> rows;
  for (const FlagRow& row : flag_table()) {
    if (row.storage == policy && row.effect == FlagEffect::sets && !row.field.empty()) rows.push_back(&row);
  }
  return rows;
}

}  // namespace kvcap
