// Generates questions about long documents as in L-Eval. A document has a length and a sub-task, which is
// drawn in proportion to L-Eval's numbers of documents. A session asks one question about one document.
// Documents recur by Zipf's law, so that a store can hit what earlier sessions left.
#include "workload/generators/long_context.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/random.h"
#include "workload/generators/draws.h"
#include "workload/generators/tables.h"
#include "workload/source.h"

namespace kvcap {
namespace {

constexpr std::string_view kLongContextTable = "traces/long_context.json";

struct Task {
  std::string name;
  int64_t documents = 0;
  bool context_is_estimated = false;
  std::vector<double> context_tokens, input_tokens, output_tokens;
};

struct LongContextTables {
  std::vector<double> probabilities;
  std::vector<Task> tasks;
};

LongContextTables load_long_context_tables() {
  const Table file(kLongContextTable);
  LongContextTables tables;
  file.get("probabilities", tables.probabilities);
  for (const Table& one : file.tables("tasks")) {
    Task& task = tables.tasks.emplace_back();
    one.get("name", task.name);
    one.get("documents", task.documents);
    one.get("context_is_estimated", task.context_is_estimated);
    one.get("context_tokens", task.context_tokens);
    one.get("input_tokens", task.input_tokens);
    one.get("output_tokens", task.output_tokens);
  }
  return tables;
}

void keep_only(const std::vector<std::string>& names, std::vector<Task>& tasks) {
  if (names.empty()) return;
  std::erase_if(tasks, [&](const Task& task) {
    return std::find(names.begin(), names.end(), task.name) == names.end();
  });
  KVCAP_CHECK(!tasks.empty());
}

struct Document {
  std::size_t task = 0;
  uint32_t tokens = 0;
};

std::vector<Document> draw_documents(const LongContextTables& tables, std::size_t count, uint64_t seed) {
  const RandomStream task_of(seed, "long_context.task"), length(seed, "long_context.context");
  std::vector<double> weights;
  for (const Task& task : tables.tasks) weights.push_back(static_cast<double>(task.documents));
  const Weighted by_documents(weights);
  std::vector<Document> documents(count);
  for (std::size_t i = 0; i < count; ++i) {
    documents[i].task = by_documents.at(task_of.uniform(i));
    const Task& task = tables.tasks[documents[i].task];
    documents[i].tokens =
        static_cast<uint32_t>(table_quantile(tables.probabilities, task.context_tokens, length.uniform(i)));
  }
  return documents;
}

void add_notes(const LongContextTables& tables, std::size_t documents, double alpha, Source& source) {
  char text[200];
  std::snprintf(text, sizeof text,
                "questions on %zu documents are drawn from statistics of L-Eval (%s), popularity Zipf(%g)",
                documents, std::string(kLongContextTable).c_str(), alpha);
  source.notes.emplace_back(text);
  std::string estimated;
  for (const Task& task : tables.tasks) {
    if (task.context_is_estimated) estimated += (estimated.empty() ? "" : " and ") + task.name;
  }
  if (!estimated.empty()) source.notes.push_back("document lengths of " + estimated + " are estimates");
}

}  // namespace

std::vector<std::string> long_context_tasks() {
  std::vector<std::string> names;
  for (const Task& task : load_long_context_tables().tasks) names.push_back(task.name);
  return names;
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view name = text.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return names;
}

Source generate_long_context(const SourceOptions& options, int64_t count, uint64_t seed) {
  LongContextTables tables = load_long_context_tables();
  keep_only(split_names(options.tasks), tables.tasks);
  int64_t known = 0;
  for (const Task& task : tables.tasks) known += task.documents;
  const auto document_count = static_cast<std::size_t>(options.documents.value_or(known));

  Source source;
  const std::vector<Document> documents = draw_documents(tables, document_count, seed);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    source.documents.push_back("\"" + tables.tasks[documents[i].task].name + "-" + std::to_string(i) + "\"");
  }
  const double alpha = options.zipf_alpha.value_or(kLongContextZipfAlpha);
  const Weighted popularity(zipf_weights(alpha, document_count));
  const RandomStream choice(seed, "long_context.document");
  const RandomStream input(seed, "long_context.input"), output(seed, "long_context.output");
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
    const std::size_t chosen = popularity.at(choice.uniform(i));
    const Document& document = documents[chosen];
    const Task& task = tables.tasks[document.task];
    const Turn turn{
        static_cast<uint32_t>(table_quantile(tables.probabilities, task.input_tokens, input.uniform(i))),
        static_cast<uint32_t>(table_quantile(tables.probabilities, task.output_tokens, output.uniform(i))),
        NAN};
    source.add({.context_tokens = document.tokens, .document = static_cast<uint32_t>(chosen)}, {turn});
    source.labels.push_back({std::to_string(i), task.name});
  }
  add_notes(tables, document_count, alpha, source);
  return source;
}

}  // namespace kvcap
