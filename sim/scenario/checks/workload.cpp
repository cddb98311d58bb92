// Checks `workload`: source, arrivals, warm-up, retries.
#include <algorithm>
#include <vector>

#include "base/text/joined.h"
#include "scenario/checks/checks.h"
#include "scenario/fields.h"
#include "workload/generators/few_shot.h"
#include "workload/generators/long_context.h"
#include "workload/generators/rag.h"
#include "workload/sources_table.h"

namespace kvcap {
namespace {

// Checks that only one field sets the rate.
void check_rate(const ArrivalOptions& arrivals, const Places& places) {
  const std::string path = "workload.arrivals";
  const auto beside = [](std::string_view other) {
    return " with " + std::string(other) + " (set one of them to null)";
  };
  const std::string allowed = "one of sessions_per_s, requests_per_s, rates";
  if (arrivals.requests_per_s && arrivals.sessions_per_s) {
    fail(places, path + ".requests_per_s",
         number_text(*arrivals.requests_per_s) +
             beside("sessions_per_s = " + number_text(*arrivals.sessions_per_s)),
         allowed);
  }
  if (arrivals.rates.empty()) return;
  const char* other = arrivals.sessions_per_s ? "sessions_per_s" : "requests_per_s";
  if (arrivals.sessions_per_s || arrivals.requests_per_s) {
    fail(places, path + ".rates", "an array" + beside(other), allowed);
  }
}

void check_period(const ArrivalOptions& arrivals, const Places& places) {
  if (!arrivals.period_s || arrivals.rates.empty()) return;
  const std::string path = "workload.arrivals.period_s";
  if (arrivals.process == ArrivalProcess::even) {
    fail(places, path, number_text(*arrivals.period_s), "none where process is \"even\"");
  }
  const std::vector<ArrivalRate>& rates = arrivals.rates;
  if (!(*arrivals.period_s > rates.back().from_s)) {
    fail(places, path, number_text(*arrivals.period_s),
         "more than the last rate's from_s, " + number_text(rates.back().from_s));
  }
  const auto is_zero = [](const ArrivalRate& one) {
    return one.sessions_per_s.value_or(0) + one.requests_per_s.value_or(0) == 0;
  };
  if (std::all_of(rates.begin(), rates.end(), is_zero)) {
    fail(places, "workload.arrivals.rates", "0 throughout", "at least one rate above 0");
  }
}

void check_rates(const std::vector<ArrivalRate>& rates, bool repeats, const Places& places) {
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const ArrivalRate& one = rates[i];
    const std::string path = "workload.arrivals.rates." + std::to_string(i);
    const bool is_last = i + 1 == rates.size() && !repeats;
    if (one.sessions_per_s.has_value() == one.requests_per_s.has_value()) {
      fail(places, path, one.sessions_per_s ? "sessions_per_s and requests_per_s" : "no rate",
           "one of sessions_per_s, requests_per_s");
    }
    if (i == 0 && one.from_s != 0)
      fail(places, path + ".from_s", number_text(one.from_s), "0 for the first rate");
    if (i > 0 && !(one.from_s > rates[i - 1].from_s)) {
      fail(places, path + ".from_s", number_text(one.from_s),
           "more than that of the previous rate, " + number_text(rates[i - 1].from_s));
    }
    if (is_last && one.ramp)
      fail(places, path + ".ramp", "true", "false for the last rate (no rate follows)");
    if (is_last && one.sessions_per_s.value_or(0) + one.requests_per_s.value_or(0) == 0) {
      fail(places, path + (one.sessions_per_s ? ".sessions_per_s" : ".requests_per_s"), "0",
           "more than 0 for the last rate (else the remaining sessions never arrive)");
    }
  }
}

// Adds notes about unused fields. They are not errors, so that --set process=... can try another process.
void note_unused_rate(const ArrivalOptions& arrivals, std::vector<std::string>& notes) {
  const auto name = kArrivalProcessNames[static_cast<std::size_t>(arrivals.process)];
  const auto note = [&](bool given, const char* field) {
    if (!given) return;
    notes.push_back(std::string("workload.arrivals.") + field + " is not used: process is \"" +
                    std::string(name) + "\"");
  };
  if (!draws_gaps(arrivals.process)) {
    note(arrivals.requests_per_s.has_value(), "requests_per_s");
    note(!arrivals.rates.empty(), "rates");
    note(arrivals.period_s.has_value(), "period_s");
  } else if (arrivals.period_s && arrivals.rates.empty()) {
    notes.push_back("workload.arrivals.period_s is not used: workload.arrivals.rates is empty");
  }
  if (arrivals.process != ArrivalProcess::trace) note(arrivals.speed != 1, "speed");
  if (arrivals.process == ArrivalProcess::closed_loop) return;
  note(arrivals.concurrency.has_value(), "concurrency");
  note(arrivals.round_sessions.has_value(), "round_sessions");
  note(arrivals.staggered, "staggered");
}

void check_arrivals(Scenario& scenario, const Places& places) {
  const ArrivalOptions& arrivals = scenario.workload.arrivals;
  const SourceRow& source = source_row(scenario.workload.source.kind);
  if (arrivals.process == ArrivalProcess::trace && !source.has_arrivals) {
    fail(places, "workload.arrivals.process", "\"trace\"",
         std::string("poisson, gamma, constant, even, closed_loop (") +
             (source.is_generated ? "generated sessions have" : "this format has") + " no arrival_s)");
  }
  check_rate(arrivals, places);
  check_rates(arrivals.rates, arrivals.period_s.has_value(), places);
  check_period(arrivals, places);
  note_unused_rate(arrivals, scenario.notes);
}

void check_warmup(const Scenario& scenario, const Places& places) {
  const WorkloadOptions& workload = scenario.workload;
  if (workload.run_length == RunLength::steady && workload.arrivals.process == ArrivalProcess::trace) {
    fail(places, "workload.run_length", "\"steady\" with arrivals.process \"trace\"",
         "fixed (a trace has a fixed length)");
  }
  if (workload.warmup == Warmup::turns || workload.warmup_turns == 0) return;
  fail(places, "workload.warmup_turns", std::to_string(workload.warmup_turns),
       "0 where workload.warmup is not \"turns\"");
}

void note_unused_retries(Scenario& scenario) {
  const WorkloadOptions& workload = scenario.workload;
  if (!workload.retries || workload.retries->count == 0 || workload.client_timeout_s) return;
  scenario.notes.push_back(
      "workload.retries is not used: clients retry after timeouts, and workload.client_timeout_s is not set");
}

void check_name(const std::string& found, const std::vector<std::string>& known, const Places& places,
                std::string_view path) {
  if (std::find(known.begin(), known.end(), found) != known.end()) return;
  const std::vector<std::string_view> names(known.begin(), known.end());
  fail(places, path, "\"" + found + "\"", joined(names) + suggestion(found, names));
}

// A field that only some kinds of sources read.
struct OwnField {
  std::string_view name;
  bool (*is_given)(const SourceOptions& source);
  std::vector<std::string_view> kinds;
};

template <auto kField>
bool differs(const SourceOptions& source) {
  return source.*kField != SourceOptions().*kField;
}

std::vector<std::string_view> kinds_where(bool (*is_meant)(const SourceRow& row)) {
  std::vector<std::string_view> kinds;
  for (const SourceRow& row : source_table())
    if (is_meant(row)) kinds.push_back(row.name);
  return kinds;
}

const std::vector<OwnField>& own_fields() {
  using O = SourceOptions;
  const auto reads = [](const SourceRow& row) { return !row.is_generated; };
  static const std::vector<OwnField> fields = {
      {"path", differs<&O::path>, kinds_where(reads)},
      {"stand_in", differs<&O::stand_in>, kinds_where(reads)},
      {"token_counts", differs<&O::token_counts>, {"sharegpt"}},
      {"hash_ids", differs<&O::hash_ids>, {"vllm"}},
      {"tasks", differs<&O::tasks>, {"long_context"}},
      {"documents", differs<&O::documents>, {"long_context"}},
      {"zipf_alpha", differs<&O::zipf_alpha>, {"long_context", "rag"}},
      {"dataset", differs<&O::dataset>, {"few_shot"}},
      {"prefixes", differs<&O::prefixes>, {"few_shot", "random"}},
      {"max_prefix_tokens", differs<&O::max_prefix_tokens>, {"few_shot"}},
      {"reuse_sigma", differs<&O::reuse_sigma>, {"few_shot"}},
      {"base_queries", differs<&O::base_queries>, {"rag"}},
      {"paraphrases", differs<&O::paraphrases>, {"rag"}},
      {"chunks", differs<&O::chunks>, {"rag"}},
      {"chunk_tokens", differs<&O::chunk_tokens>, {"rag"}},
      {"corpus_chunks", differs<&O::corpus_chunks>, {"rag"}},
      {"overlap", differs<&O::overlap>, {"rag"}},
      {"question_tokens", differs<&O::question_tokens>, {"rag"}},
      {"input_tokens", differs<&O::input_tokens>, {"random"}},
      {"output_tokens", differs<&O::output_tokens>, {"random"}},
      {"shortest_share", differs<&O::shortest_share>, {"random"}},
      {"prefix_tokens", differs<&O::prefix_tokens>, {"random"}},
      {"prompts", differs<&O::prompts>, {"random"}},
      {"shuffled", differs<&O::shuffled>, {"random"}},
      {"shared_tools", differs<&O::shared_tools>, {"weka", "agents"}},
      {"max_prompt_tokens", differs<&O::max_prompt_tokens>, {"agents"}}};
  return fields;
}

void check_own_fields(const SourceOptions& source, const Places& places) {
  for (const OwnField& field : own_fields()) {
    const bool reads_it = std::find(field.kinds.begin(), field.kinds.end(), source.kind) != field.kinds.end();
    if (reads_it || !field.is_given(source)) continue;
    constexpr std::size_t kFew = 3;
    fail(places, "workload.source." + std::string(field.name),
         "a value, which kind \"" + source.kind + "\" does not read",
         "none, or kind " + (field.kinds.size() <= kFew ? joined(field.kinds, " or ") : "of a file format"));
  }
}

void check_source(const Scenario& scenario, const Places& places) {
  const SourceOptions& source = scenario.workload.source;
  check_own_fields(source, places);
  if (source.kind == "long_context") {
    for (const std::string& one : split_names(source.tasks)) {
      check_name(one, long_context_tasks(), places, "workload.source.tasks");
    }
  }
  if (source.kind == "few_shot") {
    check_name(source.dataset, few_shot_datasets(), places, "workload.source.dataset");
  }
  if (source.kind == "rag" && source.corpus_chunks) {
    const int64_t chunks = rag_chunks(source);
    if (*source.corpus_chunks < chunks) {
      fail(places, "workload.source.corpus_chunks", std::to_string(*source.corpus_chunks),
           "at least workload.source.chunks = " + std::to_string(chunks));
    }
  }
}

}  // namespace

void check_workload(Scenario& scenario, const Places& places) {
  check_source(scenario, places);
  check_arrivals(scenario, places);
  check_warmup(scenario, places);
  note_unused_retries(scenario);
}

}  // namespace kvcap
