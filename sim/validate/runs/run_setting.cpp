#include "validate/runs/run_setting.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/files.h"
#include "base/input_error.h"
#include "base/random.h"
#include "base/text/format.h"
#include "scenario/load.h"
#include "scenario/served_model.h"
#include "workload/sources_table.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRates = 60;
constexpr int64_t kMostRequests = 50'000;
constexpr int64_t kSharedPieceTokens = 64;  // smallest size of the pieces of the common text
constexpr double kMostPieces = 4e6;         // over all prompts; with more, pieces become larger
constexpr double kMostBlockSize = 65536;
constexpr double kMostTokens = 1e7;  // per prompt or answer
constexpr uint64_t kSeed = 1;

// True iff an override sets the field `path` itself. sets_within() also accepts an override of a field inside
// `path`.
bool sets(const std::vector<std::string>& overrides, const std::string& path) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const std::string& one) { return one.starts_with(path + "="); });
}
bool sets_within(const std::vector<std::string>& overrides, const std::string& path) {
  return sets(overrides, path) ||
         std::any_of(overrides.begin(), overrides.end(),
                     [&](const std::string& one) { return one.starts_with(path + "."); });
}

std::string model_of(const Observation& observed) {
  if (observed.models.size() != 1) {
    throw InputError(observed.address + ": found " + (observed.models.empty() ? "no" : "several") +
                     " models in the log, allowed: one, or --set model=NAME");
  }
  const std::string& served = observed.models.front();
  std::string known = catalogue_model(served);
  if (!known.empty()) return known;
  // If a server loads its model from a folder, the name of the model is the path of that folder.
  std::error_code none;
  const std::filesystem::path config = std::filesystem::path(served) / "config.json";
  if (std::filesystem::is_regular_file(config, none)) return config.string();
  throw InputError("model: found \"" + served +
                   "\" in the log, which is not in the catalogue, allowed: --set model=NAME with a name of "
                   "kvcap show models or the model's config.json");
}

// Returns `count` values in ascending order with the distribution of the histogram and the measured mean.
std::vector<double> stratified(const Buckets& buckets, int64_t count) {
  std::vector<double> values;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(quantile_of(buckets, (static_cast<double>(i) + 0.5) / static_cast<double>(count)).value);
    sum += values.back();
  }
  const double scale = sum > 0 ? mean_of(buckets) * static_cast<double>(count) / sum : 1;
  for (double& one : values) one *= scale;
  return values;
}

// Returns `count` lengths with the histogram's distribution and mean, in random order.
std::vector<int64_t> lengths_of(const Buckets& buckets, double mean, int64_t count, std::string_view stream) {
  std::vector<double> values = buckets.count() > 0
                                   ? stratified(buckets, count)
                                   : std::vector<double>(static_cast<std::size_t>(count), mean);
  const RandomStream random(kSeed, stream);
  std::vector<int64_t> lengths;
  for (std::size_t i = values.size(); i > 0; --i) {
    const auto chosen = static_cast<std::size_t>(random.uniform(i) * static_cast<double>(i));
    std::swap(values[i - 1], values[std::min(chosen, i - 1)]);
    lengths.push_back(std::llround(std::clamp(values[i - 1], 1.0, kMostTokens)));
  }
  return lengths;
}

// Returns arrival times: as many requests as the server counted between two scrapes, at random times between
// them.
std::vector<double> arrival_times(const Observation& observed, int64_t count) {
  const RandomStream random(kSeed, "observed arrivals");
  std::vector<double> times;
  double counted = 0;
  for (const ArrivalCount& one : observed.arrivals) {
    counted += one.requests;
    while (std::ssize(times) < std::min(count, static_cast<int64_t>(std::llround(counted)))) {
      times.push_back(one.from_s + (one.to_s - one.from_s) * random.uniform(times.size()));
    }
  }
  std::sort(times.begin(), times.end());
  return times;
}

struct MadeUpRequests {
  std::string text;  // JSON lines in Mooncake's format
  int64_t piece_tokens = 0;
};

// Returns requests whose prompts all begin with one common text, which makes up a share `hit_rate` of each
// prompt.
MadeUpRequests requests_of(const Observation& observed, int64_t count, double hit_rate, int64_t block_size) {
  const std::vector<int64_t> prompts =
      lengths_of(observed[Spread::prompt_tokens], observed.mean_prompt_tokens(), count, "observed prompts");
  const double all_tokens = std::accumulate(prompts.begin(), prompts.end(), 0.0);
  const int64_t least = std::max(kSharedPieceTokens, static_cast<int64_t>(all_tokens / kMostPieces));
  const int64_t piece_tokens = (least + block_size - 1) / block_size * block_size;
  const std::vector<int64_t> answers =
      lengths_of(observed[Spread::output_tokens], observed.mean_output_tokens(), count, "observed answers");
  const std::vector<double> times = arrival_times(observed, count);
  const RandomStream random(kSeed, "observed hits");
  std::string text;
  int64_t next_id = 1'000'000'000;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const int64_t pieces = (prompts[i] + piece_tokens - 1) / piece_tokens;
    const double wanted = hit_rate * static_cast<double>(prompts[i]) / static_cast<double>(piece_tokens);
    const int64_t shared =
        std::min((prompts[i] - 1) / piece_tokens, static_cast<int64_t>(wanted + random.uniform(i)));
    Json ids = Json::array();
    for (int64_t piece = 0; piece < pieces; ++piece) ids.push_back(piece < shared ? piece + 1 : next_id++);
    text += Json{{"timestamp", 1e3 * times[i]},
                 {"input_length", prompts[i]},
                 {"output_length", answers[i]},
                 {"hash_ids", ids}}
                .dump() +
            "\n";
  }
  return {text, piece_tokens};
}

// Returns the arrival rates. Neighbouring scrapes are merged so that at most kMostRates remain.
Json rates_of(const Observation& observed) {
  Json rates = Json::array();
  const std::size_t together = (observed.arrivals.size() + kMostRates - 1) / kMostRates;
  double total = 0;
  for (const ArrivalCount& one : observed.arrivals) total += one.requests;
  for (std::size_t i = 0; i < observed.arrivals.size(); i += together) {
    const std::size_t end = std::min(i + together, observed.arrivals.size());
    double requests = 0;
    for (std::size_t j = i; j < end; ++j) requests += observed.arrivals[j].requests;
    const double from_s = observed.arrivals[i].from_s, to_s = observed.arrivals[end - 1].to_s;
    rates.push_back(
        {{"from_s", rates.empty() ? 0.0 : from_s}, {"requests_per_s", requests / (to_s - from_s)}});
  }
  // The last rate, the mean of the observation, applies after the observation, because sessions of the user's
  // source may continue.
  rates.push_back({{"from_s", observed.duration_s}, {"requests_per_s", total / observed.duration_s}});
  return rates;
}

// Returns a note on the server's speculative decoding, which the metrics do not describe well enough to
// simulate; "" if the server does not use it.
std::string note_on_speculation(const Observation& observed, const std::vector<std::string>& overrides) {
  if (std::isnan(observed.mean_acceptance_length()) || sets_within(overrides, "serving.speculative"))
    return "";
  const std::string begin = "the server speculates, with a mean acceptance length of " +
                            format_number(observed.mean_acceptance_length()) +
                            " tokens, which is not simulated because the metrics do not name the drafter";
  std::string shares;
  for (double one : observed.acceptance_by_position())
    shares += (shares.empty() ? "" : ", ") + format_number(one);
  if (shares.empty()) return begin + "; --set serving.speculative={...} describes it";
  const double drafting = observed.drafting_share();
  constexpr double kMost = 0.95;
  return begin + "; --set 'serving.speculative={\"method\": \"layers\", \"draft_tokens\": " +
         std::to_string(observed.acceptance_by_position().size()) + ", \"acceptance_by_position\": [" +
         shares + "]}' simulates additional layers (or ngram, draft_model)" +
         (drafting < kMost ? "; these are shares of the steps that drafted, " + format_percent(drafting) +
                                 " of all steps, so multiply them by it"
                           : "");
}

Json serving_of(const Observation& observed, Json& notes) {
  Json serving = Json::object();
  if (observed.block_size >= 1 && observed.block_size <= kMostBlockSize)
    serving["block_size"] = std::llround(observed.block_size);
  if (observed.kv_capacity_tokens >= 1 && observed.kv_capacity_tokens < 1e15) {
    serving["kv_capacity_tokens"] =
        std::llround(observed.kv_capacity_tokens / static_cast<double>(observed.engines));
  } else {
    notes.push_back("the log does not state the KV capacity, so it is derived from the hardware profile");
  }
  const auto caching = observed.config.find("enable_prefix_caching");
  if (caching != observed.config.end() && caching->second == "False") serving["prefix_caching"] = false;
  notes.push_back(
      "the metrics do not show max_num_seqs, max_num_batched_tokens and tensor_parallel_size, so kvcap's "
      "defaults are assumed; --set serving.max_num_seqs=N and so on change them");
  return serving;
}

int64_t request_count(const Observation& observed) {
  double total = 0;
  for (const ArrivalCount& one : observed.arrivals) total += one.requests;
  if (observed.scrapes < 2 || !(observed.duration_s > 0) || !(total >= 1)) {
    throw InputError(
        observed.address +
        ": the log does not show when requests arrived, allowed: a log of at least two scrapes with "
        "requests between them; or --scenario SCENARIO");
  }
  return std::min<int64_t>(kMostRequests, std::llround(total));
}

void require_lengths(const Observation& observed) {
  const auto is_length = [](double mean) { return mean >= 1 && mean <= kMostTokens; };
  if (is_length(observed.mean_prompt_tokens()) && is_length(observed.mean_output_tokens())) return;
  throw InputError(observed.address +
                   ": the log does not show how long prompts and answers are, allowed: --scenario "
                   "SCENARIO, or --set workload.source.path=FILE");
}

double given_hit_rate(const Observation& observed, const Json& serving) {
  const double measured = observed.token_hit_rate();
  const bool is_off = serving.contains("prefix_caching") && !serving["prefix_caching"].get<bool>();
  return is_off || std::isnan(measured) ? 0 : std::clamp(measured, 0.0, 1.0);
}

// Writes generated requests to a file and returns the workload source that reads them.
Json made_up_source(const Observation& observed, const Json& serving, int64_t count,
                    const std::string& requests_file, Json& notes) {
  require_lengths(observed);
  const double hit_rate = given_hit_rate(observed, serving);
  const MadeUpRequests requests =
      requests_of(observed, count, hit_rate, serving.value("block_size", int64_t{16}));
  write_file(requests_file, requests.text);
  notes.push_back(
      "the lengths of prompts and answers are drawn independently from their histograms, because the metrics "
      "do not show which prompt had which answer");
  notes.push_back(
      "the metrics do not show which requests share which prefix, so all prompts begin with the same text: " +
      format_percent(hit_rate) +
      " of the tokens are found in GPU memory, the measured hit rate of all tiers; with --set "
      "workload.source.path=REQUESTS hits are simulated and compared");
  if (count == kMostRequests) {
    notes.push_back("the log has more requests than are simulated; the simulation uses the first " +
                    format_count(kMostRequests));
  }
  return {{"kind", "mooncake"}, {"path", requests_file}, {"block_tokens", requests.piece_tokens}};
}

// Returns the workload source that the user gave with --set. If its kind is not given, guesses it from the
// file.
Json given_source(const std::vector<std::string>& overrides) {
  constexpr std::string_view kPath = "workload.source.path=";
  if (sets(overrides, "workload.source") || sets(overrides, "workload.source.kind")) return Json::object();
  for (const std::string& one : overrides) {
    if (one.starts_with(kPath)) return {{"kind", guess_source(one.substr(kPath.size())).name}};
  }
  return Json::object();
}

Json workload_of(const Observation& observed, const Json& serving, const std::vector<std::string>& overrides,
                 const std::string& requests_file, Json& notes) {
  const bool is_given = sets_within(overrides, "workload.source");
  const int64_t count = request_count(observed);
  Json workload = {{"source", is_given ? given_source(overrides)
                                       : made_up_source(observed, serving, count, requests_file, notes)}};
  if (!sets_within(overrides, "workload.arrivals")) {
    workload["arrivals"] =
        is_given ? Json{{"process", "poisson"}, {"rates", rates_of(observed)}} : Json{{"process", "trace"}};
    notes.push_back("between two scrapes, as many requests as the server counted arrive at random times");
  }
  return workload;
}

}  // namespace

RunSetting setting_of(const Observation& observed, const std::string& hardware,
                      const std::vector<std::string>& overrides, const std::string& requests_file) {
  if (hardware.empty() && !sets(overrides, "hardware"))
    throw InputError(
        "--hardware: required without --scenario, because the server's metrics do not name its GPU");
  Json notes = Json::array();
  Json scenario = {{"schema", "kvcap.scenario/1"}, {"name", "observed"}, {"policy", "recompute"}};
  if (!sets(overrides, "model")) scenario["model"] = model_of(observed);
  if (!hardware.empty()) scenario["hardware"] = hardware;
  scenario["serving"] = serving_of(observed, notes);
  if (observed.engines > 1) scenario["fleet"] = {{"replicas", observed.engines}, {"routing", "least_loaded"}};
  if (const std::string note = note_on_speculation(observed, overrides); !note.empty()) notes.push_back(note);
  scenario["workload"] = workload_of(observed, scenario["serving"], overrides, requests_file, notes);
  scenario["notes"] = notes;
  return {.scenario = parse_scenario(scenario.dump(), "the log's setting", overrides),
          .hits_are_given = !sets_within(overrides, "workload.source")};
}

}  // namespace kvcap
