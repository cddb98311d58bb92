// Generated questions about documents against the data they are fitted to.
#include "workload/generators/long_context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "unit/shared_data.h"
#include "workload/source.h"
#include "workload/trace_stats.h"

namespace kvcap::long_context_test {
namespace {

WorkloadOptions about(const std::string& tasks, int64_t sessions, double alpha) {
  WorkloadOptions options;
  options.source.kind = "long_context";
  options.source.tasks = tasks;
  options.source.zipf_alpha = alpha;
  options.sessions = sessions;
  return options;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct Lengths {
  std::vector<double> contexts, inputs, outputs;
};

// One context a document, drawn many times more often than the data has them.
Lengths generated(const std::string& task) {
  WorkloadOptions options = about(task, 20000, 0);
  options.source.documents = 20000;
  const Source source = generate_long_context(options.source, 20000, 1);
  Lengths lengths;
  for (const Session& session : source.sessions) {
    lengths.contexts.push_back(session.context_tokens);
    lengths.inputs.push_back(source.turns[session.first_turn].input_tokens);
    lengths.outputs.push_back(source.turns[session.first_turn].output_tokens);
  }
  return lengths;
}

TEST(LongContext, HasTheLengthsOfItsTable) {
  std::ifstream file(KVCAP_SOURCE_DIR "/traces/long_context.json");
  const auto json = nlohmann::json::parse(file);
  ASSERT_EQ(json["tasks"].size(), 20u);
  for (const auto& task : json["tasks"]) {
    const auto name = task["name"].get<std::string>();
    const Lengths lengths = generated(name);
    const auto near = [&](const std::vector<double>& found, const char* key, double share) {
      const double expected = task["data"][key].get<double>();
      EXPECT_NEAR(mean(found), expected, std::max(0.2, share * expected)) << name << " " << key;
    };
    // Straight lines between quantiles miss the mean of 14 documents of which one is far longer.
    near(lengths.contexts, "mean_context_tokens", 0.09);
    near(lengths.inputs, "mean_input_tokens", 0.04);
    near(lengths.outputs, "mean_output_tokens", 0.06);
    EXPECT_LE(*std::max_element(lengths.contexts.begin(), lengths.contexts.end()),
              task["data"]["max_context_tokens"].get<double>());
  }
}

TEST(LongContext, FollowsTheDocumentsThemselves) {
  KVCAP_NEEDS_SHARED_DATA("traces/leval.jsonl");
  SourceOptions options{.kind = "sessions", .path = shared_data("traces/leval.jsonl")};
  const Source data = read_sessions(options, {}, false);
  std::map<std::string, Lengths> by_task;
  for (std::size_t i = 0; i < data.sessions.size(); ++i) {
    Lengths& lengths = by_task[data.labels[i].task];
    lengths.contexts.push_back(data.sessions[i].context_tokens);
    for (uint32_t j = 0; j < data.sessions[i].turn_count; ++j) {
      lengths.inputs.push_back(data.turns[data.sessions[i].first_turn + j].input_tokens);
      lengths.outputs.push_back(data.turns[data.sessions[i].first_turn + j].output_tokens);
    }
  }
  ASSERT_EQ(by_task.size(), 18u);
  const auto quantile = [](std::vector<double> values, double p) {
    std::sort(values.begin(), values.end());
    const double position = p * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], position - static_cast<double>(below));
  };
  for (const auto& [task, expected] : by_task) {
    const Lengths found = generated(task);
    for (double p : {0.1, 0.25, 0.5, 0.75, 0.9}) {
      // 20,000 draws know the probability of a value to 1 % (two to three standard errors); between those
      // the data's own quantiles may lie far apart.
      const auto inside = [&](const std::vector<double>& a, const std::vector<double>& b, const char* what) {
        const double value = quantile(a, p);
        EXPECT_GE(value, 0.98 * quantile(b, p - 0.06) - 1) << task << " " << what << " " << p;
        EXPECT_LE(value, 1.02 * quantile(b, p + 0.06) + 1) << task << " " << what << " " << p;
      };
      inside(found.contexts, expected.contexts, "contexts");
      inside(found.inputs, expected.inputs, "inputs");
      inside(found.outputs, expected.outputs, "outputs");
    }
  }
}

TEST(LongContext, RecursByZipfsLaw) {
  WorkloadOptions options = about("quality", 100000, 1);
  options.source.documents = 4;
  const Workload workload = make_workload(options, 1);
  std::map<uint32_t, double> share;
  std::map<uint32_t, std::set<uint32_t>> tokens;
  for (const Session& session : workload.sessions) {
    share[session.document] += 1e-5;
    tokens[session.document].insert(session.context_tokens);
    EXPECT_FALSE(session.history_grows);
  }
  // Weights 1, 1/2, 1/3, 1/4 have the sum 25/12.
  for (uint32_t k = 0; k < 4; ++k) {
    EXPECT_NEAR(share[k], 12.0 / 25 / (k + 1), 0.008);
    EXPECT_EQ(tokens[k].size(), 1u);
  }
}

TEST(LongContext, SharesTheContextOfADocumentAcrossSessions) {
  const Workload workload = make_workload(about("", 2000, 1), 1);
  std::map<uint64_t, uint32_t> document_of;
  std::set<uint64_t> keys;
  int64_t tokens = 0;
  for (std::size_t i = 0; i < workload.sessions.size(); ++i) {
    const uint64_t key = workload.context_key(i);
    EXPECT_GE(key, workload.sessions.size());  // no session's own
    const auto [found, is_new] = document_of.try_emplace(key, workload.sessions[i].document);
    EXPECT_EQ(found->second, workload.sessions[i].document);
    if (is_new) tokens += workload.sessions[i].context_tokens;
  }
  EXPECT_LE(document_of.size(), 534u);
  EXPECT_EQ(workload.context_tokens(), tokens);
  // Found are all but the first questions on a document: the more alike the popularities, the fewer.
  const TraceStats stats = trace_stats(workload);
  EXPECT_EQ(stats.reuses, 2000 - static_cast<int64_t>(document_of.size()));
  EXPECT_LT(trace_stats(make_workload(about("", 2000, 0), 1)).reuses, stats.reuses);
}

TEST(LongContext, DrawsTheSameSessionWhateverTheirNumber) {
  const Workload few = make_workload(about("", 10, 1), 3), many = make_workload(about("", 1000, 1), 3);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(few.sessions[i].document, many.sessions[i].document);
    EXPECT_EQ(few.turns[i].input_tokens, many.turns[i].input_tokens);
  }
}

TEST(LongContext, SaysWhereItComesFrom) {
  const Workload workload = make_workload(about("codeU, tpo", 10, 0.5), 1);
  ASSERT_EQ(workload.notes.size(), 2u);
  EXPECT_EQ(workload.notes[0],
            "questions on 105 documents are drawn from statistics of L-Eval (traces/long_context.json), "
            "popularity Zipf(0.5)");
  EXPECT_EQ(workload.notes[1], "document lengths of codeU are estimates");
  EXPECT_EQ(split_names(" a,, b "), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace kvcap::long_context_test
