// The pages of scenarios/reference/ are written from the tables of the program. With KVCAP_WRITE_GOLDEN=1
// they are written anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/quantity.h"
#include "policy/table.h"
#include "unit/cli.h"

namespace kvcap::reference_pages_test {
namespace {

using Json = nlohmann::ordered_json;

// In a cell of a table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (std::string_view("|<>*_[]").find(letter) != std::string_view::npos) escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string title(std::string_view name, std::string_view sentence) {
  return "# " + std::string(name) + "\n\n" + std::string(sentence) +
         " Written from the program's tables: change those.\n";
}

std::string table_head(const std::vector<std::string_view>& columns) {
  std::string names = "\n|", rule = "|";
  for (std::string_view column : columns) {
    names += " " + std::string(column) + " |";
    rule += " --- |";
  }
  return names + "\n" + rule + "\n";
}

std::string better_text(Better better) {
  return better == Better::neither ? "" : better == Better::more ? "more" : "less";
}

std::string metrics_page() {
  std::string page =
      title("Metrics", "Every number of a result, by its name in JSON, CSV, `--require` and `--meet`.") +
      table_head({"metric", "title", "unit on screen", "better"});
  for (const Quantity& row : quantities()) {
    if (row.kind != QuantityKind::metric) continue;
    page += "| " + code(row.name) + " | " + cell(row.title) + " | " + cell(row.unit.symbol) + " | " +
            better_text(row.better) + " |\n";
  }
  return page;
}

std::string policies_page() {
  std::string page = title("Policies",
                           "What each policy keeps of a context, how it restores one, and when it wins. "
                           "`kvcap show policies NAME` adds the options and their defaults.");
  for (std::string_view name : policy_names()) {
    const PolicyRow& row = policy_row(name);
    page += "\n## " + std::string(name) + "\n\n" + cell(row.summary) + "\n\n- keeps " + cell(row.keeps) +
            "\n- restores: " + cell(row.restores) + "\n- " + cell(row.wins) + "\n";
    if (!row.leaves_out.empty()) page += "- left out: " + cell(row.leaves_out) + "\n";
    if (!row.read_from.empty()) page += "- read from " + cell(row.read_from) + "\n";
    if (!row.accuracy.empty()) page += "- " + cell(row.accuracy) + "\n";
  }
  return page;
}

class ReferencePages : public Cli {
 protected:
  Json shown(const std::vector<std::string>& what) const {
    std::vector<std::string> command = {"show"};
    command.insert(command.end(), what.begin(), what.end());
    command.push_back("--json");
    const Outcome outcome = kvcap(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  }

  // A section for each field at the top that has fields of its own.
  std::string fields_page() const {
    std::string own, page;
    std::map<std::string, std::string> sections;
    std::vector<std::string> order;
    for (const Json& field : shown({"fields"})) {
      const std::string name = field["name"],
                        row = "| " + code(name) + " | " + cell(std::string(field["summary"])) + " |\n";
      const std::size_t dot = name.find('.');
      if (dot == std::string::npos) {
        own += row;
        continue;
      }
      const std::string section = name.substr(0, dot);
      if (!sections.contains(section)) order.push_back(section);
      sections[section] += row;
    }
    page = title("Fields",
                 "Every field of a scenario, with its values, its default and its meaning; as `kvcap show "
                 "fields`.") +
           table_head({"field", "values: meaning"}) + own;
    for (const std::string& section : order) {
      page += "\n## " + section + "\n" + table_head({"field", "values: meaning"}) + sections[section];
    }
    return page;
  }

  std::string flags_page() const {
    std::string page = title(
        "Flags", "Which flag of an engine sets which field of a scenario; as `kvcap show flags ENGINE`.");
    for (const Json& engine : shown({"flags"})) {
      const std::string name = engine["name"];
      page += "\n## " + name + "\n" + table_head({"flags", "field or effect", "default", "source"});
      for (const Json& flag : shown({"flags", name})) {
        const auto text = [&](const char* key) {
          const Json value = flag.value(key, Json());
          return value.is_null() ? std::string()
                                 : cell(value.is_string() ? value.get<std::string>() : value.dump());
        };
        const std::string field = text("field");
        page += "| " + cell(std::string(flag["flags"])) + " | " + (field.empty() ? text("effect") : field) +
                " | " + text("default") + " | " + text("source") + " |\n";
      }
    }
    return page;
  }

  // A section for each kind of file that people write beside scenarios.
  std::string files_page() const {
    std::string page = title("Files",
                             "The fields of plans, sweeps, studies and price lists. `kvcap show schema KIND` "
                             "prints their JSON Schemas, for editors. In a path, 0 is any item of a list and "
                             "NAME any key.");
    for (const char* kind : {"plan", "sweep", "study", "prices"}) {
      const Json schema = Json::parse(kvcap({"show", "schema", kind}).out);
      page += "\n## " + std::string(kind) + "\n" + table_head({"field", "values", "meaning"});
      add_fields(schema, "", page);
    }
    return page;
  }

  // Returns the schema of a value that may be null.
  static const Json& of_value(const Json& property) {
    if (!property.contains("anyOf")) return property;
    for (const Json& form : property["anyOf"]) {
      if (form.value("type", Json()) != "null") return form;
    }
    return property;
  }

  static std::string values_of(const Json& value) {
    if (value.contains("const")) return value["const"];
    if (value.contains("enum")) {
      std::string names;
      for (const Json& one : value["enum"])
        names += (names.empty() ? "" : ", ") + (one.is_string() ? one.get<std::string>() : one.dump());
      return names;
    }
    const std::map<std::string, std::string> words = {{"string", "a text"},      {"number", "a number"},
                                                      {"integer", "an integer"}, {"boolean", "true or false"},
                                                      {"array", "a list"},       {"object", "an object"}};
    const auto word = words.find(value.value("type", std::string()));
    return word == words.end() ? "see meaning" : word->second;
  }

  static void add_fields(const Json& schema, const std::string& path, std::string& page) {
    const auto is_required = [&](const std::string& name) {
      const Json required = schema.value("required", Json::array());
      return std::find(required.begin(), required.end(), name) != required.end();
    };
    for (const auto& [name, property] : schema["properties"].items()) {
      if (name == "notes") continue;
      const Json& value = of_value(property);
      page += "| " + code(path + name) + " | " + cell(values_of(value)) +
              (is_required(name) ? ", required" : "") + " | " +
              cell(property.value("description", std::string())) + " |\n";
      if (value.contains("properties")) add_fields(value, path + name + ".", page);
      for (const auto& [inner, step] :
           {std::pair("items", ".0."), std::pair("additionalProperties", ".NAME.")}) {
        const Json of_each = value.value(inner, Json());
        if (of_each.is_object() && of_each.contains("properties"))
          add_fields(of_each, path + name + step, page);
      }
    }
  }

  static void expect_page(const char* name, const std::string& wanted) {
    const std::string file = std::string(KVCAP_SOURCE_DIR "/scenarios/reference/") + name;
    if (std::getenv("KVCAP_WRITE_GOLDEN")) {
      std::ofstream(file) << wanted;
      return;
    }
    EXPECT_EQ(read_file(file), wanted) << "KVCAP_WRITE_GOLDEN=1 writes the page anew";
  }
};

TEST_F(ReferencePages, OfMetricsIsTheirTable) { expect_page("metrics.md", metrics_page()); }
TEST_F(ReferencePages, OfPoliciesIsTheirTable) { expect_page("policies.md", policies_page()); }
TEST_F(ReferencePages, OfFieldsIsTheirTable) { expect_page("fields.md", fields_page()); }
TEST_F(ReferencePages, OfFilesIsTheirSchemas) { expect_page("files.md", files_page()); }
TEST_F(ReferencePages, OfFlagsIsTheirTable) { expect_page("flags.md", flags_page()); }

}  // namespace
}  // namespace kvcap::reference_pages_test
