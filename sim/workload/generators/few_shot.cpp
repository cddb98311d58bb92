// Generates few-shot prompts as in HyperInfer. A data set has several prefixes, each a run of examples that a
// radix tree stores as separate nodes. A session is one query that follows one of the prefixes. How often a
// prefix is reused follows a normal distribution over the indices of the prefixes, so that prefixes in the
// middle are the most popular.
#include "workload/generators/few_shot.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/random.h"
#include "workload/generators/draws.h"
#include "workload/generators/tables.h"
#include "workload/source.h"

namespace kvcap {
namespace {

constexpr std::string_view kFewShotTable = "traces/few_shot.json";

struct Dataset {
  std::string name;
  double mean_prefix_tokens = 0;
  double mean_query_tokens = 0;
};

struct FewShotTables {
  int64_t prefixes = 0;
  double reuse_sigma = 0;     // standard deviation of reuse, in prefixes, if there are `prefixes` of them
  double shortest_share = 0;  // shortest prefix / longest prefix
  double mean_node_tokens = 0, node_cv = 0;
  uint32_t min_node_tokens = 0;
  double query_cv = 0;
  uint32_t output_tokens = 0;
  std::vector<Dataset> datasets;
};

FewShotTables load_few_shot_tables() {
  const Table file(kFewShotTable);
  FewShotTables tables;
  file.get("prefixes", tables.prefixes);
  file.get("reuse_sigma", tables.reuse_sigma);
  file.get("shortest_share", tables.shortest_share);
  const Table nodes = file.table("node_tokens");
  nodes.get("mean", tables.mean_node_tokens);
  nodes.get("cv", tables.node_cv);
  nodes.get("min", tables.min_node_tokens);
  file.get("query_cv", tables.query_cv);
  file.get("output_tokens", tables.output_tokens);
  for (const Table& one : file.tables("datasets")) {
    Dataset& dataset = tables.datasets.emplace_back();
    one.get("name", dataset.name);
    one.get("mean_prefix_tokens", dataset.mean_prefix_tokens);
    one.get("mean_query_tokens", dataset.mean_query_tokens);
  }
  return tables;
}

const Dataset& dataset_of(const FewShotTables& tables, const std::string& name) {
  const auto found = std::find_if(tables.datasets.begin(), tables.datasets.end(),
                                  [&name](const Dataset& one) { return one.name == name; });
  KVCAP_CHECK(found != tables.datasets.end());
  return *found;
}

// Returns weights of a normal distribution around the middle; the largest is 1 for any sigma.
std::vector<double> normal_weights(std::size_t count, double sigma) {
  const double middle = static_cast<double>(count - 1) / 2, nearest = middle - std::floor(middle);
  std::vector<double> weights;
  for (std::size_t i = 0; i < count; ++i) {
    const double distance = static_cast<double>(i) - middle;
    weights.push_back(std::exp((nearest * nearest - distance * distance) / (2 * sigma * sigma)));
  }
  return weights;
}

// Returns lengths that are uniform from the shortest to the longest. Multiples of the golden ratio modulo 1
// spread them, so that neighbours, which have similar popularity, differ. They are scaled to the data set's
// mean over requests and then cut at `max_tokens`.
std::vector<uint32_t> prefix_lengths(const FewShotTables& tables, const Dataset& dataset,
                                     const std::vector<double>& popularity, int64_t max_tokens,
                                     uint64_t seed) {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double place = RandomStream(seed, "few_shot.prefix").uniform(0);
  std::vector<double> shares;  // relative to the longest prefix
  double sum = 0, weights = 0;
  for (double weight : popularity) {
    shares.push_back(std::lerp(tables.shortest_share, 1.0, place));
    sum += weight * shares.back();
    weights += weight;
    place = std::fmod(place + golden, 1.0);
  }
  const double longest = dataset.mean_prefix_tokens * weights / sum;
  std::vector<uint32_t> lengths;
  lengths.reserve(shares.size());
  for (double share : shares) {
    lengths.push_back(static_cast<uint32_t>(std::min<int64_t>(max_tokens, std::llround(share * longest))));
  }
  return lengths;
}

// Draws the nodes of each prefix; the last node is cut so that the prefix has its length.
std::vector<std::vector<Piece>> draw_prefixes(const FewShotTables& tables,
                                              const std::vector<uint32_t>& lengths, uint64_t seed) {
  const RandomStream length(seed, "few_shot.node");
  std::vector<std::vector<Piece>> prefixes(lengths.size());
  uint64_t key = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    for (uint32_t left = lengths[i]; left > 0; left -= prefixes[i].back().tokens) {
      const double z = length.normal(i, prefixes[i].size());
      const uint32_t tokens =
          lognormal_tokens(tables.mean_node_tokens, tables.node_cv, z, tables.min_node_tokens);
      prefixes[i].push_back({key++, std::min(left, tokens)});
    }
  }
  return prefixes;
}

std::string note_on(const Dataset& dataset, const std::vector<uint32_t>& lengths, double sigma) {
  int64_t total = 0;
  for (uint32_t tokens : lengths) total += tokens;
  char text[240];
  std::snprintf(text, sizeof text,
                "%s is drawn from HyperInfer's description (%s): %zu prefixes of %lld tokens in total, reuse "
                "is normally distributed with a standard deviation of %g prefixes",
                dataset.name.c_str(), std::string(kFewShotTable).c_str(), lengths.size(),
                static_cast<long long>(total), sigma);
  return text;
}

}  // namespace

std::vector<std::string> few_shot_datasets() {
  std::vector<std::string> names;
  for (const Dataset& dataset : load_few_shot_tables().datasets) names.push_back(dataset.name);
  return names;
}

Source generate_few_shot(const SourceOptions& options, int64_t count, uint64_t seed) {
  const FewShotTables tables = load_few_shot_tables();
  const Dataset& dataset = dataset_of(tables, options.dataset);
  const int64_t prefix_count = options.prefixes.value_or(tables.prefixes);
  const double scale = static_cast<double>(prefix_count) / static_cast<double>(tables.prefixes);
  const double sigma = options.reuse_sigma.value_or(tables.reuse_sigma * scale);
  const std::vector<double> weights = normal_weights(static_cast<std::size_t>(prefix_count), sigma);
  const std::vector<uint32_t> lengths =
      prefix_lengths(tables, dataset, weights, options.max_prefix_tokens, seed);
  const std::vector<std::vector<Piece>> prefixes = draw_prefixes(tables, lengths, seed);
  const Weighted popularity(weights);

  Source source;
  source.piece_keys = PieceKeys::prefix;
  const RandomStream choice(seed, "few_shot.choice"), query(seed, "few_shot.query");
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
    const std::size_t chosen = popularity.at(choice.uniform(i));
    const uint32_t own = lognormal_tokens(dataset.mean_query_tokens, tables.query_cv, query.normal(i));
    source.add(Turn{lengths[chosen] + own, tables.output_tokens, NAN}, prefixes[chosen]);
    source.labels.push_back({std::to_string(i), dataset.name});
  }
  source.notes.push_back(note_on(dataset, lengths, sigma));
  return source;
}

}  // namespace kvcap
