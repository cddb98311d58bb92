#include "commands/show/fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/input_error.h"
#include "base/text/format.h"
#include "base/text/print.h"
#include "base/text/width.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

// Returns the path without the indices of lists.
std::string without_indices(const std::string& path) {
  std::string names;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    const bool is_index = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    if (!is_index) names += (names.empty() ? "" : ".") + part;
    begin = end + 1;
  }
  return names;
}

bool is_in(const std::string& path, const std::string& group) {
  return path == group || path.starts_with(group + ".");
}

std::vector<FieldHelp> fields_of(const std::string& asked) {
  const std::vector<FieldHelp>& all = scenario_fields();
  const std::string group = without_indices(asked);
  std::vector<FieldHelp> found;
  const auto keep = [&](const auto& is_meant) {
    std::copy_if(all.begin(), all.end(), std::back_inserter(found), is_meant);
  };
  keep([&](const FieldHelp& one) { return is_in(without_indices(one.path), group); });
  if (found.empty() && !group.empty())
    keep([&](const FieldHelp& one) { return without_indices(one.path).find(group) != std::string::npos; });
  if (!found.empty()) return found;
  std::vector<std::string_view> paths;
  for (const FieldHelp& one : all) paths.push_back(one.path);
  throw InputError("show fields: found \"" + asked +
                   "\", allowed: a field of a scenario or a part of its path" + suggestion(asked, paths));
}

void print_field(const FieldHelp& field) {
  print(field.path + "\n");
  for (const std::string& line : wrap("    " + field.text, text_columns(), "    ")) print(line + "\n");
}

// Prints each field that is not in a group, and each group with its meaning and its number of fields.
void print_groups(const std::vector<FieldHelp>& all) {
  print(
      wrapped({"Fields of a scenario (notes are allowed in any object). kvcap show fields serving lists the "
               "fields of a group."}) +
      "\n");
  for (const FieldHelp& field : all) {
    if (field.path.find('.') != std::string::npos) continue;
    const auto below = std::count_if(all.begin(), all.end(), [&](const FieldHelp& one) {
      return one.path != field.path && is_in(one.path, field.path);
    });
    if (below == 0) {
      print_field(field);
    } else {
      print_field({field.path + "  (" + format_count(below, "field") + ")", field.text});
    }
  }
}

}  // namespace

void show_fields(const std::string& path, bool json) {
  const std::vector<FieldHelp> fields = path.empty() ? scenario_fields() : fields_of(path);
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const FieldHelp& field : fields) list.push_back({{"name", field.path}, {"summary", field.text}});
    print(list.dump(2) + "\n");
  } else if (path.empty()) {
    print_groups(fields);
  } else {
    for (const FieldHelp& field : fields) print_field(field);
  }
}

}  // namespace kvcap
