#include <fmt/core.h>

#include <map>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "documents/items.h"
#include "documents/kind.h"

namespace kvcap {
namespace {

constexpr DocumentPart kValidationParts[] = {{"checks", Json::value_t::array}};
constexpr std::size_t kMostParts = 3;  // most numbers shown per check

std::vector<std::string> validation_sentences(const Json& validation) {
  std::map<std::string, int64_t> verdicts;
  std::vector<std::string> broken;
  int64_t promised = 0, no_tests = 0;
  const Json* worst = nullptr;
  for (const Json& check : list_of(validation, "checks")) {
    const std::string verdict = text_of(check, "verdict");
    // Checks of numbers that were fitted or given are counted separately, because they are not evidence.
    const std::string role = text_of(check, "role");
    if (verdict != "not comparable" && (role == "fitted" || role == "input")) {
      ++no_tests;
      continue;
    }
    ++verdicts[verdict];
    if (verdict == "not comparable") continue;
    if (value_of(check, "promised") == true) {
      ++promised;
      if (verdict == "outside") broken.push_back(text_of(check, "id"));
    }
    if (number_of(check, "error") > (worst ? number_of(*worst, "error") : 0)) worst = &check;
  }
  const int64_t judged = verdicts["inside"] + verdicts["near"] + verdicts["outside"];
  if (judged + verdicts["not comparable"] == 0) return {};
  std::vector<std::string> said = {
      fmt::format("Of {} numbers compared with published, measured or analytic ones, {} are inside, {} near "
                  "and {} outside; {} cannot "
                  "be compared.",
                  format_count(judged), format_count(verdicts["inside"]), format_count(verdicts["near"]),
                  format_count(verdicts["outside"]), format_count(verdicts["not comparable"]))};
  if (no_tests > 0) {
    const bool is_one = no_tests == 1;
    said.push_back(fmt::format("{} more {} no evidence, because the model was fitted to {} or was given {}.",
                               format_count(no_tests), is_one ? "is" : "are", is_one ? "it" : "them",
                               is_one ? "it" : "them"));
  }
  if (promised > 0 && broken.empty())
    said.push_back(promised == 1 ? "The one number with a stated accuracy is within it."
                                 : fmt::format("All {} numbers with a stated accuracy are within it.",
                                               format_count(promised)));
  if (!broken.empty()) said.push_back(fmt::format("Outside the stated accuracy: {}.", joined(broken)));
  if (worst) {
    const std::string reason = text_of(*worst, "reason");
    said.push_back(fmt::format("The largest error is that of {}, {}{}{}", text_of(*worst, "id"),
                               format_percent(number_of(*worst, "error")),
                               reason.empty() ? "" : ": " + reason, reason.ends_with('.') ? "" : "."));
  }
  return said;
}

// Returns a number, or the first numbers of a list.
std::string numbers_text(const Json& value) {
  if (!value.is_array()) return format_number(number_or_nan(value));
  std::string text;
  for (std::size_t i = 0; i < value.size() && i < kMostParts; ++i)
    text += (i > 0 ? " / " : "") + format_number(number_or_nan(value[i]));
  return value.size() > kMostParts ? text + " / ..." : text;
}

void validation_markdown(const ReportDocument& document, MarkdownPage& page) {
  page.heading(2, document.name);
  std::vector<Cells> rows;
  constexpr const char* kVerdicts[] = {"inside", "near", "outside", "not comparable"};
  if (const Json& summary = value_of(document.content, "summary"); summary.is_object()) {
    for (const auto& [suite, counts] : summary.items()) {
      Cells& row = rows.emplace_back(Cells{suite, text_of(counts, "worst")});
      for (const char* verdict : kVerdicts) row.push_back(text_of(counts, verdict));
    }
  }
  page.table({"suite", "farthest off", "inside", "near", "outside", "not comparable"}, rows, 2);
  std::vector<Cells> outside;
  for (const Json& check : list_of(document.content, "checks")) {
    if (text_of(check, "verdict") != "outside") continue;
    outside.push_back({text_of(check, "id"), text_of(check, "reason"),
                       numbers_text(value_of(check, "simulated")), numbers_text(value_of(check, "reference")),
                       format_percent(number_of(check, "error"))});
  }
  if (outside.empty()) return;
  page.heading(3, "Outside");
  page.table({"number", "why", "simulated", "reference", "error"}, outside, 2);
}

void validation_csv(const ReportDocument& document, CsvRows& rows) {
  rows.add_list(document.name, list_of(document.content, "checks"), "id");
}

std::string validation_key(const Json&) { return ""; }

void validation_changes(const ReportDocument& then, const ReportDocument& now, std::vector<Change>& changes) {
  const auto old = by_name(list_of(then.content, "checks"), "id");
  for (const Json& check : list_of(now.content, "checks")) {
    const auto match = old.find(text_of(check, "id"));
    if (match == old.end()) continue;
    const double a = number_of(*match->second, "error"), b = number_of(check, "error");
    if (std::isnan(a) || std::isnan(b)) continue;
    changes.push_back({now.name, match->first, "error", "error", "%", 100 * a, 100 * b, 0});
  }
}

void validation_change_sentences(const ReportDocument& then, const ReportDocument& now,
                                 std::vector<std::string>& sentences) {
  const auto old = by_name(list_of(then.content, "checks"), "id");
  std::vector<std::string> better, worse;
  const auto rank = [](const std::string& verdict) {
    return verdict == "inside" ? 0 : verdict == "near" ? 1 : 2;
  };
  std::size_t common = 0;
  for (const Json& check : list_of(now.content, "checks")) {
    const auto match = old.find(text_of(check, "id"));
    if (match == old.end()) continue;
    ++common;
    const int moved = rank(text_of(check, "verdict")) - rank(text_of(*match->second, "verdict"));
    if (moved != 0) (moved < 0 ? better : worse).push_back(match->first);
  }
  std::string text =
      now.name + ": of " + format_count(static_cast<int64_t>(common)) + " checks on both sides, ";
  if (better.empty() && worse.empty()) {
    text += "none has a different verdict";
  } else {
    text += format_count(std::ssize(better)) + " have a better verdict" +
            (better.empty() ? "" : " (" + list_text(better) + ")") + " and " +
            format_count(std::ssize(worse)) + " a worse one" +
            (worse.empty() ? "" : " (" + list_text(worse) + ")");
  }
  sentences.push_back(text + ".");
}

}  // namespace

const DocumentKind kValidationDocument = {.schema = "kvcap.validation/1",
                                          .page = "validation",
                                          .parts = kValidationParts,
                                          .add_csv = validation_csv,
                                          .add_markdown = validation_markdown,
                                          .sentences = validation_sentences,
                                          .key = validation_key,
                                          .add_changes = validation_changes,
                                          .add_change_sentences = validation_change_sentences};

}  // namespace kvcap
