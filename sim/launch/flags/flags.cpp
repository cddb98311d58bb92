#include "launch/flags/flags.h"

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
  // Keys of JSON and YAML keep their underscores.
  const std::size_t end = std::min(flag.find('.'), flag.size());
  std::replace(flag.begin(), flag.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  return flag;
}

// The launch line of any engine may contain variables of LMCache and Dynamo.
static bool is_read_by(const FlagRow& row, Stack engine) {
  return row.stack == engine || row.stack == Stack::lmcache || row.stack == Stack::dynamo;
}

static std::vector<const FlagRow*> rows_named(Stack engine, const std::string& wanted) {
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

// Returns "--compilation-config.mode" for "-cc.mode": members use the first name of their flag.
static std::string full_name(Stack engine, std::string_view spelling) {
  const std::string flag = normal_flag(spelling);
  const std::size_t dot = flag.find('.');
  if (dot == std::string::npos) return flag;
  const std::vector<const FlagRow*> rows = rows_named(engine, flag.substr(0, dot));
  return rows.empty() ? flag : normal_flag(first_name(*rows.front())) + flag.substr(dot);
}

std::vector<const FlagRow*> find_flags(Stack engine, std::string_view spelling) {
  for (std::string name = full_name(engine, spelling);; name.resize(name.rfind('.'))) {
    std::vector<const FlagRow*> rows = rows_named(engine, name);
    const bool is_members = name.size() < spelling.size();
    if (!rows.empty() && (!is_members || rows.front()->form == FlagForm::json)) return rows;
    if (name.find('.') == std::string::npos) return {};
  }
}

std::vector<std::string_view> flags_beginning(Stack engine, std::string_view spelling) {
  const std::string wanted = normal_flag(spelling);
  std::vector<std::string_view> found;
  for (const FlagRow& row : flag_table()) {
    if (row.stack != engine) continue;
    for (const Word& one : words_of(row.names)) {
      const std::string name = normal_flag(one.word);
      const bool is_there = std::find(found.begin(), found.end(), first_name(row)) != found.end();
      const bool begins = name.starts_with(wanted) && name.starts_with("--");
      if (begins && name.find('.') == std::string::npos && !is_there) found.push_back(first_name(row));
    }
  }
  return found;
}

bool is_flag_or_member(Stack engine, const std::string& flag, const std::string& other) {
  const auto name_of = [&](const std::string& one) {
    const std::string full = full_name(engine, one);
    const std::vector<const FlagRow*> rows = rows_named(engine, full);
    return rows.empty() ? full : normal_flag(first_name(*rows.front()));
  };
  const std::string whole = name_of(flag), part = name_of(other);
  return part == whole || part.starts_with(whole + ".");
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
