// Reads L-Eval's raw JSONL: one document per line, with its questions and answers as texts.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "workload/logs/estimate.h"
#include "workload/logs/odd_rows.h"
#include "workload/logs/rows.h"
#include "workload/source.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

// Returns the estimated tokens of a question or an answer; at least one for an empty text.
uint32_t text_tokens(const Json& text, const std::string& path) {
  if (!text.is_string()) bad_value(path, text, "a string");
  return static_cast<uint32_t>(std::max<int64_t>(1, estimate_tokens(text.get_ref<const std::string&>())));
}

const Json& texts(const Json& row, const char* key) {
  const Json& found = required(row, key, "");
  if (!found.is_array() || found.empty()) bad_value(key, found, "an array with at least one string");
  return found;
}

}  // namespace

Source read_leval(const SourceOptions& options, std::optional<int64_t> most) {
  Source source;
  // The task is the beginning of the file name: coursera for "coursera.jsonl.gz".
  const std::string file = std::filesystem::path(options.path).filename().string();
  const std::string task = file.substr(0, file.find('.'));
  OddRows odd;
  const auto take = [&](const Json& row, int64_t line) {
    if (odd.is_repeated(std::hash<Json>()(row), true, odd.place(line))) return true;
    const Json& context = required(row, "input", "");
    if (!context.is_string()) bad_value("input", context, "a string");
    const Json& questions = texts(row, "instructions");
    const Json& answers = texts(row, "outputs");
    if (answers.size() != questions.size()) {
      throw BadRowError{"outputs: found " + std::to_string(answers.size()) + " answers, allowed: " +
                        std::to_string(questions.size()) + ", one for each of the instructions"};
    }
    const int64_t context_tokens = estimate_tokens(context.get_ref<const std::string&>());
    if (context_tokens == 0) bad_value("input", context, "a text");
    std::vector<Turn> turns;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const std::string number = std::to_string(i);
      turns.push_back({text_tokens(questions[i], "instructions." + number),
                       text_tokens(answers[i], "outputs." + number), NAN});
    }
    source.add({.context_tokens = static_cast<uint32_t>(context_tokens)}, turns);
    source.labels.push_back({Json(task + "-" + std::to_string(line)).dump(), task});
    return !most || std::ssize(source.sessions) < *most;
  };
  report_bad_rows(options.path, for_each_row(options.path, options.on_bad_row, take), source);
  odd.tell(options.path, source);
  source.notes.emplace_back(kEstimateNote);
  return source;
}

}  // namespace kvcap
